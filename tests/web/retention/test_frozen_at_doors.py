"""A text that a legal hold freezes: every door refuses to change it in its own form, and nothing changes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.rules import holds
from memoryhub.models import Access, Hold, HoldKind, Import, Memory, MemoryStore, MemoryVersion, User
from tests.api.harness import Hub, new_secret
from tests.mcp.messages import call, text_of
from tests.support.fixtures import signed_in
from tests.transfer.hostile import archive
from tests.web.findings.flagged import with_card
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, write
from tests.web.memories.test_selection import ask, confirm
from tests.web.review.reviewing import inbox
from tests.web.transfer.test_imports import act_on, brought, finished, text_of as page_of

pytestmark = pytest.mark.django_db
WHY = "cannot be changed, moved or deleted: Case 17"


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
    assert "cannot be changed" in shown and "Case 17" in shown


def by_a_selection(store: MemoryStore, memory: Memory, browser: Client) -> None:
    for way in ({"act": "delete"}, {"act": "move", "into": "/elsewhere"}):
        asked = ask(browser, store, id=memory.pk, **way)
        shown = confirm(browser, store, asked) if "digest" in asked else asked
        assert "Legal hold" in shown and "its text is frozen" in shown and "Case 17" in shown, way


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


def test_whoever_gives_a_reason_knows_that_agents_read_it(store: MemoryStore, alice: User) -> None:
    assert "agents read the reason too" in signed_in(alice).get(reverse("holds", args=[store.pk])).content.decode()


def test_the_inbox_and_the_findings_offer_nothing_that_the_hold_refuses(
    store: MemoryStore, key: str, alice: User
) -> None:
    with_card(Caller(store, key, session="run"), "/case/a.md")
    with_card(Caller(store, key, session="run"), "/free/a.md")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/case", freezes=True)
    client = signed_in(alice)
    for item in inbox(client).context["items"]:
        assert item.may_edit == (item.memory.path == "/free/a.md")
    html = inbox(client, path="/case/").content.decode()
    assert "freezes this memory" in html and reverse("holds", args=[store.pk]) in html
    assert 'value="approve"' in html and 'data-review-key="r"' not in html and "Edit and approve" not in html
    assert 'data-review-key="r"' in inbox(client, path="/free/").content.decode()
    listed = client.get(reverse("store_findings", args=[store.pk])).content.decode()
    edits = {memory.path: reverse("edit_memory", args=[store.pk, memory.pk]) for memory in Memory.objects.all()}
    assert edits["/free/a.md"] in listed and edits["/case/a.md"] not in listed


def test_the_sentence_of_a_refusal_isolates_the_names_in_it(store: MemoryStore, alice: User) -> None:
    write(store, "/תיק/אחד.md")
    other = write(store, "/b.md")
    client = signed_in(alice)
    answer = client.post(reverse("rename_memory", args=[store.pk, other.pk]), {"new_path": "/תיק/אחד.md"})
    assert "at /\u2068תיק\u2069/\u2068אחד.md\u2069." in answer.content.decode()
