"""The page of a blame: who brought each line, the way back, other versions, what is gone, and who may look."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.history import blame as blame_history
from memoryhub.actions.memories import curation
from memoryhub.models import Door, Memory, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import AT, BY, new_person, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def blame(user: User, memory: Memory, query: str = "") -> Any:
    response = signed_in(user).get(reverse("blame", args=[memory.store_id, memory.pk]) + query)
    assert response.status_code == 200
    return response


def items(response: Any) -> list[str]:
    """The list items of the lines."""
    return re.findall(r'<li id="L\d+".*?</li>', response.content.decode(), re.DOTALL)


def origins(response: Any) -> list[int]:
    """For each line the version that its link to the readers names."""
    return [int(number) for item in items(response) for number in re.findall(r"readers\?version=(\d+)", item)]


def person_edits(memory: Memory, user: User, text: str, at: Any = AT) -> None:
    memory.refresh_from_db()
    curation.edit(memory.store_id, memory.pk, text, memory.sha256, Act(Actor.person(user), Door.WEB, at))


def redact(memory: Memory, number: int) -> None:
    """As a redaction leaves a version."""
    with tampering():
        MemoryVersion.objects.filter(memory=memory, number=number).update(text=None, redacted_at=AT, redacted_by="u")


def test_each_line_tells_version_agent_session_moment_and_entry(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "one\ntwo\nthree\n")
    caller.session = "run-2"
    second = caller.replace("/a.md", "two", "2\n2b")
    person_edits(memory, alice, "one\n2\n2b\nthree\nfour", caller.at)
    response = blame(bob, memory)
    assert origins(response) == [1, 2, 2, 1, 3]
    first, two, _same, again, four = items(response)
    assert "Support bot" in two and "run-2" in two and "run-1" in first and "run-1" in again and "Alice" in four
    assert reverse("version", args=[memory.store_id, second.pk]) + "#L2" in two
    assert reverse("entry", args=[memory.store_id, second.seq]) in two
    assert reverse("session", args=[Session.objects.get(name="run-2").pk]) in two
    assert f'datetime="{second.created_at.isoformat(timespec="seconds")}"' in two
    assert 'id="L2"' in two and 'href="#L2"' in two and "<code>2</code>" in two


def test_neighbours_of_one_version_are_told_once(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "1\n2\n3\n")
    caller.replace("/a.md", "2", "two")
    shown = items(blame(bob, memory))
    assert ["blame-meta" in item for item in shown] == [True, True, True]
    caller.replace("/a.md", "two", "2")
    caller.replace("/a.md", "1", "one\nuno")
    shown = items(blame(bob, memory))
    assert ["blame-meta" in item for item in shown] == [True, False, True, True]
    assert ["data-list-item" in item for item in shown] == [True, False, True, True]


def test_age_is_a_scale_from_the_oldest_line_to_the_newest(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "1\n2\n3\n")
    assert all('class="blame-5' in item for item in items(blame(bob, memory)))
    assert "All lines were written at the same time" in blame(bob, memory).content.decode()
    for old, new in (("2", "two"), ("two", "zwei"), ("3", "three")):
        caller.replace("/a.md", old, new)
    response = blame(bob, memory)
    assert [int(item.partition("blame-")[2][0]) for item in items(response)] == [0, 3, 5]
    assert response.content.decode().count("<i class=") == 6


def test_before_this_change_leads_to_the_line_as_it_was(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nb\nc\n")
    caller.replace("/a.md", "a\n", "x\ny\na\n")
    caller.replace("/a.md", "c", "see")
    _x, _y, a, _b, c = items(blame(bob, memory))
    assert 'href="?version=2#L5"' in c
    assert 'href="?version=' not in a
    assert origins(blame(bob, memory, "?version=2")) == [2, 2, 1, 1, 1]
    assert origins(blame(bob, memory, "?version=1")) == [1, 1, 1]


def test_before_a_restore_of_a_deleted_memory_comes_the_text_that_it_had(
    caller: Caller, alice: User, bob: User
) -> None:
    memory = caller.create("/a.md", "a\n")
    caller.replace("/a.md", "a", "b")
    caller.delete("/a.md")
    first = MemoryVersion.objects.get(memory=memory, number=1)
    curation.restore(memory.store_id, first.pk, Act(Actor.person(alice), Door.WEB, caller.at))
    caller.call("insert", path="/memories/a.md", insert_line=1, insert_text="c")
    a, c = items(blame(bob, memory))
    assert origins(blame(bob, memory)) == [1, 5]
    assert 'href="?version=4#L1"' in c
    assert 'href="?version=' not in a


def test_a_line_stays_with_who_wrote_it_through_renames_and_restores(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "a\nb\n")
    caller.replace("/a.md", "b", "c")
    by_alice = Act(Actor.person(alice), Door.WEB, caller.at)
    curation.rename(memory.store_id, "/a.md", "/b.md", by_alice)
    curation.restore(memory.store_id, MemoryVersion.objects.get(memory=memory, number=1).pk, by_alice)
    assert origins(blame(bob, memory)) == [1, 1]
    assert origins(blame(bob, memory, "?version=3")) == [1, 2]


def test_versions_are_stepped_through_by_keys(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    caller.replace("/a.md", "a", "b")
    caller.replace("/a.md", "b", "c")
    body = blame(bob, memory, "?version=2").content.decode()
    assert re.search(r'href="\?version=1"[^>]* data-shortcut="\["', body)
    assert re.search(r'href="\?version=3"[^>]* data-shortcut="\]"', body)
    assert "This is an earlier version." in body
    newest = blame(bob, memory).content.decode()
    assert 'data-shortcut="]"' not in newest and "earlier version" not in newest


def test_a_memory_in_the_trash_has_its_blame(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    caller.delete("/a.md")
    response = blame(bob, memory)
    assert origins(response) == [1]
    assert "in the trash" in response.content.decode()
    deletion = blame(bob, memory, "?version=2").content.decode()
    assert "This version deleted the memory" in deletion
    assert 'href="?version=1"' in deletion


def test_what_a_redaction_took_is_said(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nb\n")
    caller.replace("/a.md", "b", "secret")
    caller.replace("/a.md", "secret", "harmless")
    redact(memory, 2)
    response = blame(bob, memory)
    a, harmless = items(response)
    assert "This line came with version 1." in a
    assert "This line came with version 2, which was redacted or removed, or with version 3." in harmless
    assert "v2–3" in harmless
    assert "For 1 line, it is unknown which version added it" in response.content.decode()
    assert "was removed permanently" in blame(bob, memory, "?version=2").content.decode()


def test_more_versions_than_a_page_looks_at_are_told(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blame_history, "MOST_VERSIONS", 3)
    memory = caller.create("/a.md", "a\nb\n")
    for old, new in (("b", "c"), ("c", "d"), ("d", "e")):
        caller.replace("/a.md", old, new)
    response = blame(bob, memory)
    assert origins(response) == [2, 4]
    assert "v2 or earlier" in items(response)[0]
    assert "more versions than one page can compare" in response.content.decode()
    assert origins(blame(bob, memory, "?version=2")) == [1, 2]


def test_a_very_long_text_comes_in_parts(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "x\n" * 20_005)
    assert "Next lines" in blame(bob, memory).content.decode()
    assert len(items(blame(bob, memory, "?from=20001"))) == 5
    assert 'id="L20005"' in items(blame(bob, memory, "?from=20001"))[-1]


def test_an_empty_text_has_no_lines(caller: Caller, bob: User) -> None:
    assert "The text is empty" in blame(bob, caller.create("/a.md", "")).content.decode()


@in_turn("written", ["x", "0", "-1", "99", "9" * 40, "²", "<b>"])
def test_a_version_that_there_is_not_gets_a_sentence(written: str, caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    response = blame(bob, memory, f"?version={written}")
    assert origins(response) == [1]
    assert "This memory has no version" in response.content.decode()
    assert "<b>”" not in response.content.decode()
    assert origins(blame(bob, memory, f"?from={written}")) == [1]


def test_hostile_texts_and_names_are_inert(store: MemoryStore, bob: User) -> None:
    agent = keys_and_roles.create_agent(HOSTILE, **BY)
    key = keys_and_roles.issue_key(agent, stores=[store], access=keys_and_roles.Access.WRITE, **BY)[1]
    caller = Caller(store, key, session=HOSTILE.encode("ascii", "ignore").decode())
    memory = caller.create("/<b>&quot;.md", f"{HOSTILE}\n\r\n{HOSTILE}")
    body = blame(bob, memory).content.decode()
    assert "<script>alert" not in body
    assert "\u202e" not in body
    assert "<b>&quot" not in body
    assert "hidden-character" in body
    assert len(items(blame(bob, memory))) == 3


def test_who_has_no_role_finds_nothing_and_pages_only_show(
    caller: Caller, alice: User, bob: User, charlie: User
) -> None:
    memory = caller.create("/a.md", "a\n")
    address = reverse("blame", args=[memory.store_id, memory.pk])
    answers = [signed_in(user).get(address).status_code for user in (alice, bob, charlie)]
    assert answers == [200, 200, 404]
    assert Client().get(address).status_code == 302
    assert signed_in(alice).post(address).status_code == 405
    root = new_person("Root", is_superuser=True)
    assert signed_in(root).get(address.replace(memory.store_id, "memstore_x")).status_code == 404
    assert signed_in(root).get(address.replace(memory.pk, "mem_x")).status_code == 404


def test_the_tabs_of_a_memory_lead_here(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    page = signed_in(bob).get(reverse("memory", args=[memory.store_id, memory.pk])).content.decode()
    assert reverse("blame", args=[memory.store_id, memory.pk]) in page
    assert reverse("readers", args=[memory.store_id, memory.pk]) in page


def test_a_blame_takes_few_questions_whatever_the_history(
    caller: Caller, bob: User, django_assert_max_num_queries: Any
) -> None:
    memory = caller.create("/a.md", "0\n")
    for number in range(60):
        caller.call("insert", path="/memories/a.md", insert_line=number, insert_text=f"line {number}")
    client = signed_in(bob)
    address = reverse("blame", args=[memory.store_id, memory.pk])
    client.get(address)
    with django_assert_max_num_queries(16):
        assert client.get(address).status_code == 200


def test_a_persons_note_is_beside_the_lines_that_came_with_it(store: MemoryStore, alice: User) -> None:
    memory = write(store, "/a.md", "one\n")
    note = '<b>Asked "legal"</b>\u200b'
    curation.edit(store.pk, memory.pk, "two\n", memory.sha256, act(alice)._replace(note=note))
    html = signed_in(alice).get(reverse("blame", args=[store.pk, memory.pk])).content.decode()
    assert 'title="&lt;b&gt;Asked &quot;legal&quot;&lt;/b&gt;\ufffd">&lt;b&gt;Asked' in html
