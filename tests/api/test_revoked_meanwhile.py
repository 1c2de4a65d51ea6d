"""A key that is revoked while its request runs or waits: what has not run by then does not run."""

from collections.abc import Callable
from typing import Any

import pytest

from memoryhub import tool
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.api import requests as api_requests
from memoryhub.models import AuditEntry, Key, MemoryStore
from tests.api.harness import Hub, assert_audit_is_right, contents
from tests.support.fixtures import BY

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    return Hub(store, key)


def revoke() -> None:
    keys_and_roles.revoke_key(Key.objects.get(), **BY)


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, after which the key is revoked."""

    def wrapped(*args: Any, **named: Any) -> Any:
        result = function(*args, **named)
        if Key.objects.filter(revoked_at=None).exists():
            revoke()
        return result

    return wrapped


@pytest.mark.parametrize("limit", [None, 1200])
def test_the_rest_of_a_message_does_not_run(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, settings: Any, limit: Any
) -> None:
    settings.MEMORYHUB_LIMITS = {**settings.MEMORYHUB_LIMITS, "calls": limit}
    monkeypatch.setattr(tool, "execute", after(tool.execute))
    blocks = [hub.block(command="create", path=f"/memories/{n}.md", file_text="x\n") for n in range(3)]
    answer = hub.message(*blocks)
    assert (answer.status, answer.value["error"]["type"]) == (401, "authentication_error")
    assert contents(hub.store) == {"/memories/0.md": "x\n"}
    assert AuditEntry.objects.of_chain(hub.store.pk).of_command("create").count() == 1
    assert_audit_is_right(hub.store)


def test_a_request_of_the_api_that_waits_does_not_run(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was let in, and its key was revoked before its turn came."""
    monkeypatch.setattr(api_requests, "together", lambda work, _key: (revoke(), work())[1])
    answer = hub.send({"path": "/a.md", "content": "x\n"}, url=f"/v1/memory_stores/{hub.store.pk}/memories")
    assert answer.status == 401 and contents(hub.store) == {}


def test_a_call_of_mcp_that_waits_does_not_run(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "together", lambda work, _key: (revoke(), work())[1])
    call = {"name": "memory", "arguments": {"command": "create", "path": "/memories/a.md", "file_text": "x\n"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = hub.client.post(
        f"/mcp/{hub.store.pk}", body, "application/json", headers={"authorization": f"Bearer {hub.secret}"}
    )
    assert answer.status_code == 401 and contents(hub.store) == {}
