"""A text that a legal hold freezes: every door refuses to change it in its own form, and nothing changes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memoryhub.actions import holds
from memoryhub.models import Access, Hold, HoldKind, Import, Memory, MemoryStore, MemoryVersion, User
from tests.api.harness import Hub, new_secret
from tests.fixtures import signed_in
from tests.mcp.messages import call, text_of
from tests.transfer.hostile import archive
from tests.web.memory_pages import act, write
from tests.web.test_importing import act_on, brought, finished
from tests.web.test_importing import text_of as page_of
from tests.web.test_selection import ask, confirm

pytestmark = pytest.mark.django_db
WHY = "is held and cannot be changed, moved or deleted: Case 17"


def at_the_api(store: MemoryStore, memory: Memory, _browser: Client) -> None:
    hub = Hub(store, new_secret(store, Access.MANAGE))
    address = f"/v1/memory_stores/{store.pk}/memories/{memory.pk}"
    for method, body in (("POST", {"content": "new\n"}), ("POST", {"path": "/b.md"}), ("DELETE", b"")):
        answer = hub.send(body, method=method, url=address)
        assert 400 <= answer.status < 500, answer.body
        assert answer.value["type"] == "error" and WHY in answer.value["error"]["message"]


def at_mcp(store: MemoryStore, memory: Memory, _browser: Client) -> None:
    hub = Hub(store, new_secret(store))
    path = "/memories" + memory.path
    result = call(hub, "memory", command="str_replace", path=path, old_str="old", new_str="new")
    assert result["isError"] and WHY in text_of(result)[1]


def by_an_import(store: MemoryStore, memory: Memory, browser: Client) -> None:
    job: Import = brought(browser, store, archive(("case/a.md", b"new\n")))
    assert act_on(browser, job, "start_import", **{"choice-0": "take"}) == 303
    shown = page_of(browser, finished(job))
    assert "is held and cannot be changed" in shown and "Case 17" in shown


def by_a_selection(store: MemoryStore, memory: Memory, browser: Client) -> None:
    for way in ({"act": "delete"}, {"act": "move", "into": "/elsewhere"}):
        asked = ask(browser, store, id=memory.pk, **way)
        shown = confirm(browser, store, asked) if "digest" in asked else asked
        assert "is held" in shown and "Case 17" in shown, way


DOORS: list[Callable[[MemoryStore, Memory, Client], None]] = [at_the_api, at_mcp, by_an_import, by_a_selection]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: str(door.__name__))
def test_a_frozen_text_is_refused_with_its_reason_and_nothing_changed(
    store: MemoryStore, alice: User, door: Callable[[MemoryStore, Memory, Client], None]
) -> None:
    memory = write(store, "/case/a.md", "old\n")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/case", freezes=True)

    def rows() -> list[Any]:
        of_store: list[Any] = list(MemoryVersion.objects.filter(store=store).order_by("pk").values())
        return of_store + list(Memory.objects.filter(store=store).values("pk", "path", "head_id", "deleted_at"))

    before = rows()
    door(store, memory, signed_in(alice))
    assert rows() == before and Hold.objects.count() == 1
