"""Hunks of a proposal on its page: a person takes some of them, and reads afterwards what became of each."""

import re

import pytest
from django.test import Client

from memoryhub.models import Memory, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import (
    LINES,
    begun,
    edit,
    holds_back,
    moves,
    newest,
    proposes,
    replaces,
    send_without,
    state,
    texts,
    url_of,
)

pytestmark = pytest.mark.django_db

CARD, OTHER_CARD = "5105 1051 0510 5100", "4111 1111 1111 1111"
A, B = "/policies/a.md", "/policies/b.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return begun(store, key, A, B)


@pytest.fixture
def two(caller: Caller) -> Caller:
    """A proposal that edits two places of one memory, and one of another."""
    replaces(caller, A, "two", "2")
    replaces(caller, A, "six", "6")
    replaces(caller, B, "two", "2")
    return caller


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def hunk(path: str, number: int) -> str:
    return f"{Memory.objects.at(path).get().pk}:{number}"


def outcomes(html: str) -> list[str]:
    """What the page says above each hunk."""
    return re.findall(r'class="diff-head"><td colspan="4"><span class="badge [^"]+">([^<]+)<', html)


def test_a_memory_with_several_hunks_has_a_tick_for_each(two: Caller, store: MemoryStore, curator: Client) -> None:
    html = curator.get(url_of(store)).content.decode()
    ticks = re.findall(r'name="take" value="([^"]+)"[^>]*( checked)>', html)
    assert ticks == [(hunk(A, 1), " checked"), (hunk(A, 2), " checked")]
    assert "Place 1 of 2" in html and "Place 2 of 2" in html


def test_what_is_not_ticked_is_left_out_and_the_page_says_so(two: Caller, store: MemoryStore, curator: Client) -> None:
    page = send_without(curator, store, hunk(A, 1)).content.decode()
    assert texts(store) == {A: LINES.replace("six", "6"), B: LINES.replace("two", "2")}
    assert state(store) == ("partly_merged", "")
    assert outcomes(page) == ["left out", "merged"]
    assert ">merged in part</span>" in page and ">merged</span>" in page
    assert "diff-head" in page and 'name="take"' not in page


def test_a_memory_of_which_every_hunk_is_left_out_stays(two: Caller, store: MemoryStore, curator: Client) -> None:
    page = send_without(curator, store, hunk(A, 1), hunk(A, 2)).content.decode()
    assert texts(store) == {A: LINES, B: LINES.replace("two", "2")}
    assert state(store) == ("partly_merged", "") and "left as it was" in page
    assert "Merged 1 of 2 changes of proposal #1." in page


def test_leaving_every_hunk_out_decides_nothing_and_keeps_the_ticks(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    for old, new in (("two", "2"), ("six", "6")):
        replaces(caller, A, old, new)
    page = send_without(curator, store, hunk(A, 1), hunk(A, 2)).content.decode()
    assert "every change is left out" in page and state(store) == ("open", "")
    assert not re.search('name="take" value="[^"]+"[^>]* checked', page)


def test_lines_that_others_wrote_meanwhile_are_no_hunks_and_stay(
    two: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    edit(store, A, "four", "IV", alice)
    page = send_without(curator, store, hunk(A, 2)).content.decode()
    assert texts(store)[A] == LINES.replace("two", "2").replace("four", "IV")
    assert outcomes(page) == ["merged", "left out"]


def test_of_a_conflict_only_some_hunks_can_be_taken(
    two: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    edit(store, A, "two", "II", alice)
    memory = Memory.objects.at(A).get().pk
    page = send_without(curator, store, hunk(A, 1), **{f"choice-{memory}": "before"}).content.decode()
    assert texts(store)[A] == LINES.replace("two", "II").replace("six", "6")
    assert outcomes(page) == ["left out", "merged"]


def test_a_move_can_be_merged_without_the_edit(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, A, "two", "2")
    moves(caller, A, "/policies/moved.md")
    send_without(curator, store, hunk(A, 1))
    assert texts(store) == {"/policies/moved.md": LINES, B: LINES}
    assert state(store) == ("partly_merged", "")


def test_hunks_of_masked_values_can_be_told_apart_by_their_numbers(
    store: MemoryStore, key: str, curator: Client
) -> None:
    caller = Caller(store, key, session="run-7")
    caller.create(A, LINES.replace("two", CARD))
    holds_back(store)
    replaces(caller, A, CARD, OTHER_CARD)
    replaces(caller, A, "six", "6")
    page = send_without(curator, store, hunk(A, 1)).content.decode()
    assert texts(store)[A] == LINES.replace("two", CARD).replace("six", "6")
    assert CARD not in page and OTHER_CARD not in page and outcomes(page) == ["left out", "merged"]


@pytest.mark.parametrize("offered", ["{}:3", "{}:0", "{}:99999999"])
def test_hunks_that_are_not_there_stop_the_merge(
    two: Caller, store: MemoryStore, curator: Client, offered: str
) -> None:
    fields = form_with(curator.get(url_of(store)).content.decode(), "digest")
    hidden = {"offered": offered.format(Memory.objects.at(A).get().pk), "decision": "merge"}
    page = curator.post(url_of(store), fields | hidden).content.decode()
    assert "Nothing was done" in page and state(store) == ("open", "") and texts(store)[A] == LINES


def test_after_a_change_all_hunks_are_ticked_anew(
    two: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    html = curator.get(url_of(store)).content.decode()
    edit(store, A, "one", "I", alice)
    fields = form_with(html, "digest") | {"offered": [hunk(A, 1), hunk(A, 2)], "take": hunk(A, 2), "decision": "merge"}
    page = curator.post(url_of(store), fields).content.decode()
    assert "has changed since you opened this page" in page
    assert len(re.findall('name="take" value="[^"]+"[^>]* checked', page)) == 2


def test_viewers_and_new_memories_have_no_ticks(two: Caller, store: MemoryStore, bob: User, curator: Client) -> None:
    assert 'name="take"' not in signed_in(bob).get(url_of(store)).content.decode()
    two.session = "run-8"
    proposes(two, "create", "/policies/new.md", file_text="one\n\ntwo\n")
    assert 'name="take"' not in curator.get(url_of(store, 2)).content.decode()


def test_the_entry_names_what_was_merged_in_part(two: Caller, store: MemoryStore, curator: Client) -> None:
    memory = Memory.objects.at(A).get().pk
    send_without(curator, store, hunk(A, 1))
    entry = newest(store)
    assert entry.command == "merge_proposal" and f'"merged_in_part":["{memory}"]' in (entry.input or "").replace(
        " ", ""
    )
