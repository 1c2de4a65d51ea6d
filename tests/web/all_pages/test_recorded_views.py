"""Views of texts by people have audit entries where a memory store says so. `audit/test_gaps` opens every page."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import viewing
from memoryhub.actions.stores import copies, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.actions.transfer import streaming
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Door, Finding, Memory, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import BY, signed_in
from tests.web.erasure.erasing import find
from tests.web.erasure.test_collected import archive, rows
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

NOTICE = "records who reads them"


@pytest.fixture
def memory(store: MemoryStore, key: str) -> Memory:
    """A memory with two versions, in a store that records who reads it."""
    caller = Caller(store, key, session="run", at=timezone.now() - timedelta(hours=1))
    memory = caller.create("/visit.md", "Quellenberg came\nand paid\n")
    caller.create("/other.md", "nothing\n")
    caller.replace("/visit.md", "and paid", "and will pay")
    stores.edit_store(store, replace(StoreSettings.of(store), records_views=True), **BY)
    return Memory.objects.get(pk=memory.pk)


def at(name: str, memory: Memory, query: str = "") -> str:
    return reverse(name, args=[memory.store_id, memory.pk]) + query


def recorded(store: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(store).of_command(viewing.COMMAND).oldest())


def told(entry: AuditEntry) -> dict[str, Any]:
    return json.loads(entry.input or "")  # type: ignore[no-any-return]


def text(response: Any) -> str:
    return str(response.content.decode())


def test_an_admin_switches_it_on_and_the_audit_says_so(store: MemoryStore, alice: User) -> None:
    client, address = signed_in(alice), f"/stores/{store.pk}/settings"
    form = {"name": store.name, "description": ""}
    assert 'name="records_views"' in text(client.get(address))
    client.post(address, form | {"records_views": "on"})
    assert MemoryStore.objects.get().records_views
    assert f'<a href="/stores/{store.pk}/audit?command=view_text">What was read</a>' in text(client.get(address))
    assert "records who reads memories" in text(client.get(f"/stores/{store.pk}/audit"))
    client.post(address, form)
    assert "What was read" not in text(client.get(address))
    assert not MemoryStore.objects.get().records_views and verify.verify(store.pk)[1] is None


def test_the_entry_says_who_read_which_versions_on_which_page(memory: Memory, alice: User, bob: User) -> None:
    client = signed_in(bob)
    assert NOTICE in text(client.get(at("memory", memory)))
    assert NOTICE in text(client.get(at("compare", memory)))
    assert NOTICE not in text(client.get(at("versions", memory)))
    one, both = recorded(memory.store_id)
    assert (one.author_id, one.door, one.path) == (bob.pk, Door.WEB, "/visit.md")
    assert (one.memory, one.version) == (memory.pk, memory.head_id)
    assert told(both)["page"] == "compare" and both.version is None and len(told(both)["versions"]) == 2
    admin, where = signed_in(alice), f"/audit/{memory.store_id}"
    assert "read /visit.md on the page “Compare”" in text(admin.get(f"{where}/{both.seq}"))
    found = text(admin.get(f"/stores/{memory.store_id}/audit?q=command:view_text+person:{bob.email}"))
    assert found.count("read on a page") >= 2
    assert verify.verify(memory.store_id)[1] is None


def test_a_store_that_does_not_record_has_no_entry(store: MemoryStore, key: str, bob: User) -> None:
    memory = Caller(store, key).create("/visit.md", "Quellenberg came\n")
    assert NOTICE not in text(signed_in(bob).get(at("memory", memory)))
    assert not recorded(store.pk)


def test_the_same_page_is_recorded_again_after_some_minutes_and_at_once_for_others(
    memory: Memory, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(bob)
    for _ in range(3):
        client.get(at("memory", memory))
    client.head(at("blame", memory))
    signed_in(alice).get(at("memory", memory))
    assert [entry.author_id for entry in recorded(memory.store_id)] == [bob.pk, alice.pk]
    monkeypatch.setattr(viewing, "AGAIN", timedelta(0))
    client.get(at("memory", memory))
    assert len(recorded(memory.store_id)) == 3


def test_a_page_with_several_memories_names_them_in_one_entry(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    page = text(client.get("/review"))
    assert "Quellenberg" in page and NOTICE in page
    (entry,) = recorded(memory.store_id)
    assert entry.memory is None and len(told(entry)["memories"]) == 2 and len(told(entry)["versions"]) == 3
    assert "read 2 memories on the page “Review”" in text(client.get(f"/stores/{memory.store_id}/audit"))
    address = "/search?q=Quellenberg"
    assert NOTICE in text(client.get("/search?q=nowhere")) and len(recorded(memory.store_id)) == 1
    while found := re.search(r'hx-get="(/search)?([?][^"]*at=[^"]*)"', text(client.get(address))):
        address = "/search" + unescape(found[2])
    assert told(recorded(memory.store_id)[1]) == {
        "page": "search", "memories": [memory.pk], "versions": [memory.head_id],
    }  # fmt: skip


def test_what_a_page_asks_for_by_itself_is_not_recorded(memory: Memory, alice: User) -> None:
    client, htmx = signed_in(alice), {"HX-Request": "true"}
    news = f"/stores/{memory.store_id}/audit/new?since=0"
    for address in (news, at("memory_news", memory), "/review/new?since=0", "/?part=first-steps"):
        assert client.get(address, headers=htmx).status_code < 400, address
    assert not recorded(memory.store_id)


def test_readers_access_requests_and_the_stream_know_them(memory: Memory, alice: User, bob: User) -> None:
    client = signed_in(bob)
    other = Memory.objects.at("/other.md").get()
    assert "No record says that a page of the hub showed it to anyone" in text(client.get(at("readers", other)))
    client.get(at("compare", memory))
    client.get(at("version", memory).replace("memories", "versions").replace(memory.pk, str(memory.head_id)))
    page = text(client.get(at("readers", memory)))
    assert page.count("opened a page that shows text of") == 3 and "Bob" in page
    admin = signed_in(alice)
    files = archive(admin, find(admin, "quellenberg"))
    reads = [row for name in files if name.endswith("reads.jsonl") for row in rows(files, name)]
    assert sorted(row["number"] for row in reads if row["command"] == viewing.COMMAND) == [1, 2, 2]
    events = streaming.next_batch(memory.store_id, 0).events
    views = [event for event in events if event.get("api", {}).get("operation") == viewing.COMMAND]
    assert {event["activity_name"] for event in views} == {"Read"}
    assert all(memory.pk in {one.get("uid") for one in event["resources"]} for event in views)


def test_forms_that_show_texts_are_recorded_and_acts_that_show_none_are_not(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    where = f"/stores/{memory.store_id}/erase"
    assert "Quellenberg" in text(client.post(where, {"terms": "Quellenberg"}))
    tried = {"command": "view", "path": "/memories/visit.md", "who": ""}
    assert "will pay" in text(client.post(f"/stores/{memory.store_id}/try", tried))
    assert [told(entry)["page"] for entry in recorded(memory.store_id)] == ["erase", "try_call"]
    assert recorded(memory.store_id)[1].version == memory.head_id
    client.post(at("rename_memory", memory), {"new_path": "/visits.md", "note": ""})
    assert len(recorded(memory.store_id)) == 2


def test_a_replay_is_recorded_with_what_its_answers_show_now(memory: Memory, key: str, alice: User) -> None:
    """A view that was refused then shows a text now, if somebody has written one there."""
    at = timezone.now() - timedelta(minutes=30)
    Caller(memory.store, key, session="early", at=at).call("view", path="/memories/late.md")
    late = Caller(memory.store, key, session="late", at=at).create("/late.md", "Quellenberg is late\n")
    early = Session.objects.get(name="early")
    where = f"/stores/{memory.store_id}/sessions/{early.pk}/replay"
    assert "Quellenberg is late" in text(signed_in(alice).post(where, {"moment": "now"}))
    (entry,) = recorded(memory.store_id)
    assert (entry.memory, entry.version) == (late.pk, late.head_id)


def test_a_preview_names_also_the_older_version_to_which_it_would_return(memory: Memory, alice: User) -> None:
    client, first = signed_in(alice), MemoryVersion.objects.get(memory=memory, number=1)
    readers = at("readers", memory, "?version=1")
    assert "No record says that a page of the hub showed it to anyone" in text(client.get(readers))
    undo = reverse("undo_version", args=[memory.store_id, memory.head_id])
    assert "and paid" in text(client.get(undo))
    assert set(told(recorded(memory.store_id)[-1])["versions"]) == {first.pk, memory.head_id}
    assert "opened a page that shows text of" in text(client.get(readers))


def test_the_trash_names_the_versions_of_which_it_shows_the_first_line(memory: Memory, key: str, alice: User) -> None:
    Caller(memory.store, key, at=timezone.now() - timedelta(minutes=5)).delete("/visit.md")
    assert "Quellenberg came" in text(signed_in(alice).get(reverse("trash", args=[memory.store_id])))
    (entry,) = recorded(memory.store_id)
    assert (entry.memory, entry.version) == (memory.pk, memory.head_id)


def test_what_replaces_an_item_of_the_inbox_is_recorded_also_without_its_page(memory: Memory, alice: User) -> None:
    """Each of these requests answers with the changes of the version, whether or not the inbox is open."""
    client, htmx, where = signed_in(alice), {"HX-Request": "true"}, f"/stores/{memory.store_id}/review"
    version = str(memory.head_id)
    forms = [
        ("claim", f"{where}/claim", {"refresh": "1"}), ("assign", f"{where}/assign", {"who": "me"}),
        ("decide", f"{where}/decide", {"decision": "flag", "note": "Is it true?"}),
        ("decide", f"{where}/decide", {"decision": "unflag"}),
    ]  # fmt: skip
    for number, (name, address, form) in enumerate(forms):
        assert "Quellenberg" in text(client.post(address, form | {"version": version}, headers=htmx)), form
        entries = recorded(memory.store_id)
        assert told(entries[-1])["page"] == name and version in told(entries[-1])["versions"]
        assert len(entries) == min(number, 2) + 1
    done = client.post(f"{where}/decide", {"version": version, "decision": "approve", "earlier": "1"}, headers=htmx)
    assert "Quellenberg" not in text(done) and len(recorded(memory.store_id)) == 3
    seq = AuditEntry.objects.of_chain(memory.store_id).of_command("approve").get().seq
    assert "Quellenberg" in text(client.post(f"{where}/{seq}/undo", {"version": version}, headers=htmx))
    assert [told(entry)["page"] for entry in recorded(memory.store_id)][3:] == ["undo_decision"]


def test_the_form_that_asks_why_findings_are_dismissed_is_recorded(memory: Memory, key: str, alice: User) -> None:
    Caller(memory.store, key, at=timezone.now()).create("/bank.md", "Quellenberg pays with 4111 1111 1111 1111\n")
    one = Finding.objects.get(store=memory.store_id)
    answer = signed_in(alice).post("/findings/decide", {"one": f"dismiss:{one.pk}"})
    assert "Quellenberg" in text(answer)
    (entry,) = recorded(memory.store_id)
    assert told(entry) == {"page": "decide_all_findings", "memories": [one.memory_id], "versions": [one.version_id]}


@pytest.mark.both_databases
@pytest.mark.parametrize("is_older", [False, True], ids=["", "a copy from before the store recorded it"])
def test_what_somebody_reads_of_a_copy_is_in_the_audit_of_the_original(
    memory: Memory, bob: User, is_older: bool
) -> None:
    settings = StoreSettings.of(memory.store)
    if is_older:
        stores.edit_store(memory.store, replace(settings, records_views=False), **BY)
    with tree.locked(memory.store_id, Act(Actor.system("copy"), Door.WEB, timezone.now())) as locked:
        copy = copies.make(locked, proposes=False)
    last = AuditEntry.objects.of_chain(memory.store_id).newest()[0].seq
    while copies.fill(copy, memory.store_id, last, timezone.now()) is None:
        pass
    stores.edit_store(memory.store, replace(settings, records_views=True), **BY)
    twin = Memory.objects.at("/visit.md").get(store=copy)
    client = signed_in(bob)
    assert "Quellenberg" in text(client.get(at("memory", twin)))
    assert "Quellenberg" in text(client.get(f"/audit/{copy}/2"))
    entry, other = recorded(memory.store_id)
    assert told(entry)["copy"] == copy and told(entry)["memories"] == [twin.pk] and not recorded(copy)
    assert told(other)["page"] == "entry" and told(other)["copy"] == copy


def test_a_copy_that_is_kept_records_who_reads_it_if_its_original_does_by_then(memory: Memory, bob: User) -> None:
    settings, by = StoreSettings.of(memory.store), Act(Actor.system("copy"), Door.WEB, timezone.now())
    stores.edit_store(memory.store, replace(settings, records_views=False), **BY)
    with tree.locked(memory.store_id, by) as locked:
        copy = copies.make(locked, proposes=False)
    stores.edit_store(memory.store, replace(settings, records_views=True), **BY)
    with tree.locked(memory.store_id, by) as locked:
        copies.keep(locked, copy, "Kept")
    assert MemoryStore.objects.get(pk=copy).records_views and verify.verify(copy)[1] is None


def test_a_view_that_cannot_be_recorded_is_not_shown(
    memory: Memory, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise tree.NoSuchStore

    monkeypatch.setattr(viewing, "note", fails)
    client = Client(raise_request_exception=False)
    client.cookies = signed_in(bob).cookies
    answer = client.get(at("memory", memory))
    assert answer.status_code == 404 and "Quellenberg" not in text(answer)


def test_a_try_and_a_replay_that_show_a_text_say_that_the_audit_records_it(memory: Memory, alice: User) -> None:
    client, told_so = signed_in(alice), "But the audit records that this page showed you the text"
    address, before = reverse("try_call", args=[memory.store_id]), len(recorded(memory.store_id))
    fields = {"command": "view", "path": "/memories/visit.md", "act": "try"}
    assert told_so not in text(client.get(address)) + text(client.post(address, fields | {"path": "/memories"}))
    seen = text(client.post(address, fields))
    assert "the call left no audit entry" in seen and told_so in seen
    assert len(recorded(memory.store_id)) == before + 1
    replay = reverse("replay_session", args=[memory.store_id, Session.objects.get().pk])
    assert told_so not in text(client.get(replay)) and told_so in text(client.post(replay))
