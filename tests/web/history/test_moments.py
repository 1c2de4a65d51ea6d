"""A store as it was: choosing a moment, the tree and the memories at that moment, and who may look."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Role, User
from tests.support.fixtures import AT, BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """An agent that has made, moved, changed and deleted."""
    caller = Caller(store, key, session="morning")
    caller.create("/notes/a.md", "one\n")
    caller.create("/b.md", "two\n")
    caller.call("rename", old_path="/memories/notes/a.md", new_path="/memories/old/a.md")
    caller.replace("/old/a.md", "one", "three")
    caller.delete("/b.md")
    return caller


@pytest.fixture
def look(bob: User) -> Client:
    return signed_in(bob)


def seq_of(store: MemoryStore, command: str) -> int:
    """The newest entry with a command."""
    return AuditEntry.objects.of_chain(store.id).of_command(command).newest()[0].seq


def at(store: MemoryStore, seq: int, rest: str = "") -> str:
    return f"/stores/{store.id}/at/{seq}/{rest}"


def names(response: Any) -> list[str]:
    return [row.item.name for row in response.context["rows"]]


def get(client: Client, url: str, status: int = 200, **headers: str) -> Any:
    response = client.get(url, headers=headers)
    assert response.status_code == status, response.content.decode()[:500]
    return response


def test_the_tree_of_each_moment_is_shown_with_its_names(caller: Caller, look: Client) -> None:
    store = caller.store
    created = seq_of(store, "create")
    assert names(get(look, at(store, created))) == ["notes", "b.md"]
    assert names(get(look, at(store, created, "tree/notes"))) == ["a.md"]
    assert names(get(look, at(store, seq_of(store, "rename")))) == ["old", "b.md"]
    assert names(get(look, at(store, seq_of(store, "delete")))) == ["old"]
    assert names(get(look, at(store, 1))) == []
    assert "Nothing was here" in get(look, at(store, 1)).content.decode()


def test_the_banner_says_when_it_was_and_what_now_is(caller: Caller, look: Client) -> None:
    seq = seq_of(caller.store, "create")
    page = get(look, at(caller.store, seq)).content.decode()
    assert "This is the store as it was after" in page
    assert f"The newest entry is {caller.last.seq}." in page
    assert reverse("changes", args=[caller.store.id]) + f"?from={seq}&amp;to={caller.last.seq}" in page
    assert "This is the store as it is now" in get(look, at(caller.store, caller.last.seq)).content.decode()


def test_a_near_moment_says_how_long_ago_it_is(caller: Caller, look: Client) -> None:
    caller.at = timezone.now() - timedelta(days=2, hours=1)
    caller.create("/near.md", "one\n")
    seq = caller.last.seq
    caller.create("/later.md", "two\n")
    assert "(2 days ago)" in get(look, at(caller.store, seq)).content.decode()
    url = reverse("moments", args=[caller.store.id]) + f"?seq={seq}"
    assert "(2 days ago)" in get(look, url, hx_request="true").content.decode()


def test_only_curators_are_offered_to_restore(caller: Caller, look: Client, alice: User) -> None:
    url = at(caller.store, seq_of(caller.store, "create"))
    restore = reverse("restore_moment", args=[caller.store.id, seq_of(caller.store, "create")])
    assert restore not in get(look, url).content.decode()
    assert restore in get(signed_in(alice), url).content.decode()
    stores.set_archived(caller.store, True, **BY)
    assert restore not in get(signed_in(alice), url).content.decode()


def test_a_memory_is_shown_with_the_text_and_path_that_it_had(caller: Caller, look: Client) -> None:
    store, memory = caller.store, Memory.objects.get(path="/old/a.md")
    for command, path, text in (("rename", "/old/a.md", "one"), ("str_replace", "/old/a.md", "three")):
        page = get(look, at(store, seq_of(store, command), f"memories/{memory.pk}"))
        assert page.context["version"].path == path
        assert f"<code>{text}</code>" in page.content.decode()
    first = MemoryVersion.objects.of_memory(memory).get(number=1)
    page = get(look, at(store, first.seq, f"memories/{memory.pk}"))
    assert "/notes/a.md" in page.content.decode()
    assert page.context["steps"] == {"next": at(store, seq_of(store, "rename"), f"memories/{memory.pk}")}


def test_the_path_that_a_memory_had_leads_to_it(caller: Caller, look: Client) -> None:
    memory = Memory.objects.get(path="/old/a.md")
    seq = seq_of(caller.store, "create")
    response = get(look, at(caller.store, seq, "tree/notes/a.md"), 302)
    assert response["Location"] == at(caller.store, seq, f"memories/{memory.pk}")


def test_a_memory_that_was_not_there_is_said_to_be_in_the_trash_or_not_yet_there(caller: Caller, look: Client) -> None:
    memory = Memory.objects.get(path="/b.md")
    deleted = get(look, at(caller.store, caller.last.seq, f"memories/{memory.pk}"))
    assert deleted.context["state"] == "deleted"
    assert "In the trash" in deleted.content.decode()
    before = get(look, at(caller.store, 1, f"memories/{memory.pk}"))
    assert before.context["state"] == "none"
    assert set(before.context["steps"]) == {"next"}


@pytest.mark.both_databases
def test_a_redacted_text_is_not_there_at_any_moment(caller: Caller, look: Client) -> None:
    memory = Memory.objects.get(path="/old/a.md")
    with tampering():
        MemoryVersion.objects.of_memory(memory).filter(number=1).update(
            text=None, size=None, sha256=None, redacted_at=AT
        )
    seq = seq_of(caller.store, "create")
    assert "removed permanently" in get(look, at(caller.store, seq, f"memories/{memory.pk}")).content.decode()
    assert "redacted" in get(look, at(caller.store, seq, "tree/notes")).content.decode()


def test_a_place_where_nothing_was_is_404_with_ways_on(caller: Caller, look: Client) -> None:
    page = get(look, at(caller.store, caller.last.seq, "tree/notes"), 404).content.decode()
    assert "There was nothing at /notes" in page
    for path in ("tree/%2e%2e", "tree/" + "x" * 2000, "tree//", "tree/a%0ab"):
        get(look, at(caller.store, caller.last.seq, path), 404)


@pytest.mark.parametrize("seq", [0, 10**6, 10**30])
def test_an_entry_that_is_not_there_is_404(seq: int, caller: Caller, look: Client) -> None:
    memory = Memory.objects.get(path="/b.md")
    for rest in ("", "tree/notes", f"memories/{memory.pk}"):
        get(look, at(caller.store, seq, rest), 404)
    get(look, f"/stores/{caller.store.id}/at/abc/", 404)


def test_the_keys_step_over_entries_that_changed_nothing(caller: Caller, look: Client) -> None:
    store = caller.store
    created, moved = seq_of(store, "create"), seq_of(store, "rename")
    caller.call("view", path="/memories")
    page = get(look, at(store, moved))
    assert page.context["steps"]["previous"] == at(store, created)
    assert page.context["steps"]["next"] == at(store, seq_of(store, "str_replace"))
    newest = get(look, at(store, caller.last.seq))
    assert newest.context["steps"] == {"previous": at(store, seq_of(store, "str_replace"))}
    assert 'data-shortcut="["' in newest.content.decode()
    within = get(look, at(store, seq_of(store, "delete"), "tree/old"))
    assert within.context["steps"] == {"previous": at(store, moved, "tree/old")}


def test_the_slider_and_the_number_lead_to_the_moment(caller: Caller, look: Client) -> None:
    url, seq = reverse("moments", args=[caller.store.id]), seq_of(caller.store, "create")
    assert get(look, f"{url}?seq={seq}", 302)["Location"] == at(caller.store, seq)
    assert get(look, f"{url}?seq={seq}&path=/notes", 302)["Location"] == at(caller.store, seq, "tree/notes")
    memory = Memory.objects.get(path="/b.md")
    url = f"{url}?seq={seq}&memory={memory.pk}"
    assert get(look, url, 302)["Location"] == at(caller.store, seq, f"memories/{memory.pk}")


def test_sliding_tells_what_the_entry_was(caller: Caller, look: Client) -> None:
    url = reverse("moments", args=[caller.store.id]) + f"?seq={seq_of(caller.store, 'rename')}"
    hint = get(look, url, hx_request="true").content.decode()
    assert "<html" not in hint
    assert "renamed /notes/a.md to /old/a.md" in hint
    assert "Support bot" in hint


def test_a_date_is_read_in_the_zone_of_the_person(caller: Caller, bob: User) -> None:
    with tampering():
        User.objects.filter(pk=bob.pk).update(time_zone="Asia/Tokyo")
    url = reverse("moments", args=[caller.store.id])
    entry = AuditEntry.objects.of_chain(caller.store.id).of_command("rename").get()
    local = (entry.at + timedelta(hours=9)).strftime("%Y-%m-%dT%H:%M")
    asked = get(signed_in(bob), f"{url}?at={local}", 302)["Location"]
    assert asked.partition("?")[0] == at(caller.store, entry.seq)
    utc = entry.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    asked = get(signed_in(bob), f"{url}?at={utc}", 302)["Location"]
    assert asked.partition("?")[0] == at(caller.store, entry.seq)
    assert "the last entry before" in get(signed_in(bob), asked).content.decode()


@in_turn(
    ("query", "sentence"),
    [
        ("seq=abc", "not the number"),
        ("seq=0", "start at number 1"),
        ("seq=-1", "not the number"),
        ("seq=" + "9" * 18, "No entry has this number yet"),
        ("seq=" + "9" * 40, "not the number"),
        ("at=yesterday", "not a date"),
        ("at=1990-01-01T10:00", "did not exist yet"),
        ("at=0001-01-01T00:00", "not a date"),
        ("at=9999-12-31T23:59", "not a date"),
        ("at=2999-01-01T10:00", "is in the future"),
    ],
)
def test_a_moment_that_cannot_be_shown_is_said(query: str, sentence: str, caller: Caller, look: Client) -> None:
    page = get(look, reverse("moments", args=[caller.store.id]) + "?" + query).content.decode()
    assert sentence in page
    assert 'type="range"' in page


@pytest.mark.both_databases
def test_shortcuts_lead_before_a_session_and_to_the_newest_changes(caller: Caller, look: Client) -> None:
    page = get(look, reverse("moments", args=[caller.store.id]))
    first = AuditEntry.objects.of_chain(caller.store.id).filter(session__isnull=False).order_by("seq")[0]
    assert [(session.name, shortcut.seq) for session, shortcut, _url in page.context["sessions"]] == [
        ("morning", first.seq - 1)
    ]
    assert [entry.command for entry, _ in page.context["recent"]] == [
        "delete", "str_replace", "rename", "create", "create",
    ]  # fmt: skip


def test_the_way_before_a_session_leads_to_the_memory_that_was_chosen(caller: Caller, look: Client) -> None:
    memory, evening = caller.store.memories.get(path="/old/a.md"), Caller(caller.store, caller.key, session="evening")
    before = AuditEntry.objects.of_chain(caller.store.id).newest()[0].seq
    evening.replace("/old/a.md", "three", "four")
    page = get(look, reverse("moments", args=[caller.store.id]) + f"?memory={memory.pk}")
    url = at(caller.store, before, f"memories/{memory.pk}")
    assert f'href="{url}">Before evening began' in page.content.decode()
    assert "three" in get(look, url).content.decode()


def test_shortcuts_of_time_go_no_further_back_than_the_store(store: MemoryStore, key: str, look: Client) -> None:
    caller = Caller(store, key, at=timezone.now() - timedelta(days=3))
    caller.create("/a.md", "x")
    caller.at = timezone.now() - timedelta(minutes=5)
    caller.create("/b.md", "x")
    page = get(look, reverse("moments", args=[store.id]))
    assert [shortcut.name for shortcut, _ in page.context["shortcuts"]][:2] == [
        "An hour ago", "Yesterday at this time"
    ]  # fmt: skip


def test_two_weeks_ago_is_a_shortcut(store: MemoryStore, key: str, look: Client) -> None:
    caller = Caller(store, key, at=timezone.now() - timedelta(days=20))
    caller.create("/a.md", "x")
    for ago in (timedelta(days=10), timedelta(minutes=5)):
        caller.at = timezone.now() - ago
        caller.create(f"/{ago.days}.md", "x")
    page = get(look, reverse("moments", args=[store.id]))
    assert "Two weeks ago" in [shortcut.name for shortcut, _ in page.context["shortcuts"]]


@pytest.mark.parametrize("given", ["path=x", "path=/", "path=/a/", "path=" + "/x" * 900, "memory=mem_none", "path="])
def test_a_scope_that_nothing_can_have_is_the_store(given: str, caller: Caller, look: Client) -> None:
    url = reverse("moments", args=[caller.store.id]) + f"?seq=1&{given}"
    assert get(look, url, 302)["Location"] == at(caller.store, 1)


def test_a_memory_of_another_store_is_not_found(caller: Caller, bob: User, look: Client) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    keys_and_roles.set_role(other, bob, Role.VIEWER, **BY)
    memory = Memory.objects.get(path="/b.md")
    get(look, at(other, 1, f"memories/{memory.pk}"), 404)
    url = reverse("moments", args=[other.id]) + f"?seq=1&memory={memory.pk}"
    assert get(look, url, 302)["Location"] == at(other, 1)


def test_hostile_names_and_texts_are_shown_as_text(store: MemoryStore, key: str, look: Client) -> None:
    caller = Caller(store, key)
    memory = caller.create("/<b>&'\".md", HOSTILE)
    for url in (at(store, caller.last.seq), at(store, caller.last.seq, f"memories/{memory.pk}")):
        page = get(look, url).content.decode()
        assert "<script>alert" not in page and "<b>&" not in page
        assert "\u202e" not in page


def test_charlie_finds_nothing_and_a_post_is_refused(caller: Caller, look: Client, charlie: User) -> None:
    memory = Memory.objects.get(path="/b.md")
    seq = caller.last.seq
    urls = [at(caller.store, seq), at(caller.store, seq, "tree/old"), at(caller.store, seq, f"memories/{memory.pk}"),
            reverse("moments", args=[caller.store.id])]  # fmt: skip
    for url in urls:
        get(signed_in(charlie), url, 404)
        assert look.post(url).status_code == 405
    assert caller.last.seq == seq
