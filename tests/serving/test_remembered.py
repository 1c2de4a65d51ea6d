"""What the committer remembers of keys and stores never outlives a change of them, whoever makes it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from memoryhub.actions.core import transactions
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.transactions import remembered
from memoryhub.models import HoldKind
from tests.api.harness import BY, assert_audit_is_right, new_hub
from tests.api.server import Agent, served
from tests.serving.clients import Desk

pytestmark = pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="PostgreSQL has no committer"
)

NUMBERS = count()


@contextmanager
def other_process(directory: Path) -> Iterator[sqlite3.Connection]:
    """A connection that commits each statement, as another process of the hub would."""
    with closing(sqlite3.connect(directory / "memoryhub.sqlite3")) as other:
        other.isolation_level = None
        yield other


def write(agent: Agent) -> tuple[int, str]:
    """(status, text of the answer) of a call that creates a memory."""
    number = next(NUMBERS)
    input = {"command": "create", "path": f"/memories/{number}.md", "file_text": "a\n"}
    status, _, value = agent.send({"type": "tool_use", "id": f"toolu_r{number}", "name": "memory", "input": input})
    return status, value["content"] if status == 200 else value["error"]["message"]


def test_each_change_by_another_process_holds_for_the_next_call(tmp_path: Path) -> None:
    with served(tmp_path) as server, other_process(tmp_path) as other:
        store, secret = server.new_store()
        agent = Agent(server, store, secret)

        def after(statement: str, *values: object) -> tuple[int, str]:
            assert other.execute(statement, values).rowcount == 1
            return write(agent)

        of_store = "update memoryhub_memorystore set {} = ? where id = ?"
        (key,) = other.execute("select key_id from memoryhub_keystore where store_id = ?", (store,)).fetchone()
        of_key = "update memoryhub_key set {} = ? where id = ?"
        now = datetime.now(UTC).replace(tzinfo=None)

        assert "created" in write(agent)[1]
        assert "archived" in after(of_store.format("archived_at"), str(now), store)[1]
        assert "created" in after(of_store.format("archived_at"), None, store)[1]
        assert "limit" in after(of_store.format("limit_memories"), 2, store)[1]
        assert after(of_store.format("limit_calls"), 1, store)[0] == 200
        assert write(agent)[0] == 429
        other.execute("update memoryhub_memorystore set limit_calls = null, limit_memories = null")
        assert "created" in write(agent)[1]
        assert "may not write" in after(of_key.format("access"), "read", key)[1]
        assert "created" in after(of_key.format("access"), "write", key)[1]
        assert after(of_key.format("expires_at"), str(now - timedelta(seconds=1)), key)[0] == 401
        assert after(of_key.format("expires_at"), str(now + timedelta(days=1)), key)[0] == 200
        assert after(of_key.format("revoked_at"), str(now), key)[0] == 401
        assert after(of_key.format("revoked_at"), None, key)[0] == 200
        assert after("delete from memoryhub_keystore where key_id = ?", key)[0] == 404
        agent.connection.close()


def test_a_change_by_the_committer_itself_holds_for_the_next_call(desk: Desk) -> None:
    store, secret = desk.server.new_store()
    manager = desk.server.command("issue_key", "manager", "--store", store, "--access", "manage")
    agent = Agent(desk.server, store, secret)
    assert "created" in write(agent)[1]
    with closing(desk.server.connect()) as own:
        headers = {"Authorization": f"Bearer {manager}", "Content-Type": "application/json"}
        own.request("POST", f"/v1/memory_stores/{store}/archive", headers=headers)
        assert own.getresponse().status == 200
    assert "archived" in write(agent)[1]
    agent.connection.close()


@pytest.mark.django_db(transaction=True)
def test_totals_head_and_holds_are_those_that_the_acts_between_calls_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions._thread, "is_committer", True, raising=False)
    hub, act = new_hub(), Act(**BY)

    def memories_after_create(name: str) -> str:
        block = hub.block(command="create", path=f"/memories/{name}.md", file_text="one\n")
        return hub.send(block).headers["memoryhub-usage"].partition(";")[0]

    def edit(old: str, new: str) -> str:
        return hub.call(command="str_replace", path="/memories/a.md", old_str=old, new_str=new)[1]

    assert memories_after_create("a") == "memories=1"
    assert "edited" in edit("one", "two")
    own = hub.send({"path": "/b.md", "content": "two\n"}, url=f"/v1/memory_stores/{hub.store.id}/memories")
    assert own.status == 200
    assert memories_after_create("c") == "memories=3"
    hold = holds.place(hub.store.id, act, kind=HoldKind.HOLD, reason="a case", path="/a.md", freezes=True)
    assert "is held" in edit("two", "three")
    holds.release(hub.store.id, hold.pk, act)
    assert "edited" in edit("two", "three")
    assert_audit_is_right(hub.store)


def fail_after_remembering() -> None:
    with transactions.writing():
        remembered.put("uncommitted", "fact")
        raise OperationalError


@pytest.mark.django_db(transaction=True)
def test_what_a_transaction_read_is_forgotten_if_it_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions._thread, "is_committer", True, raising=False)
    with pytest.raises(OperationalError):
        fail_after_remembering()
    with transactions.writing():
        assert remembered.get("fact") is None
        remembered.put("committed", "fact")
    assert remembered.get("fact") is None, "outside a transaction nothing is sure"
    with transactions.writing():
        assert remembered.get("fact") == "committed"
    connection.close()
    with transactions.writing():
        assert remembered.get("fact") is None, "another connection has seen other commits"
