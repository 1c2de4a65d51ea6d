"""Reads that the page of readers finds only if it looks beyond the path and the time of a version."""

import pytest
from django.urls import reverse

from memoryhub.actions.erasure import redaction
from memoryhub.actions.findings import findings
from memoryhub.actions.memories.selection import Chosen
from memoryhub.actions.search import search
from memoryhub.actions.transfer import exporting
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.web.sessions.readers import query as readers_query
from tests.support.fixtures import signed_in
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.sessions.reads import readers, seen, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


def redact(memory: Memory, *numbers: int) -> None:
    for version in MemoryVersion.objects.filter(memory=memory, number__in=numbers):
        redaction.redact_version(memory.store_id, version.pk, act())


@pytest.mark.parametrize("later", ["", "/b.md"], ids=["a path that stays", "a path that is redacted too"])
def test_a_redaction_leaves_who_had_seen_the_version(later: str, caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nsecret\n")
    read, by_id = view(caller, "/a.md", "reader"), caller.read(memory.head_id).seq
    if later:
        caller.call("rename", old_path="/memories/a.md", new_path=f"/memories{later}")
    caller.replace(later or "/a.md", "secret", "harmless")
    view(caller, later or "/a.md", "later")
    redact(memory, 1)
    assert MemoryVersion.objects.get(memory=memory, number=1).path is None
    assert seen(bob, memory, version=1) == {(read, 1), (by_id, 1)}
    assert "No one has seen" not in readers(bob, memory, version=1).content.decode()


def test_redacted_versions_at_several_paths_keep_their_readers(caller: Caller, bob: User) -> None:
    memory = caller.create("/d/a.md", "one\n")
    reads = {(view(caller, "/d/a.md", "first"), 1)}
    caller.call("rename", old_path="/memories/d", new_path="/memories/e")
    reads |= {(view(caller, "/e/a.md", "second"), 2)}
    caller.replace("/e/a.md", "one", "two")
    reads |= {(view(caller, "/e/a.md", "third"), 3), (caller.last.seq - 1, 3)}
    caller.call("rename", old_path="/memories/e/a.md", new_path="/memories/f.md")
    redact(memory, 1, 2, 3)
    assert {read for number in (1, 2, 3) for read in seen(bob, memory, version=number)} == reads


@pytest.mark.both_databases
def test_a_redacted_version_between_others_is_searched_for_a_line(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nb\n")
    caller.replace("/a.md", "b", "secret")
    read = view(caller, "/a.md", "reader")
    caller.replace("/a.md", "secret", "harmless")
    redact(memory, 2)
    assert (read, 2) in seen(bob, memory, version=3, line=1)


@pytest.mark.parametrize("door", [Door.API, Door.MCP])
def test_a_read_of_an_old_version_is_found_however_late_it_came(door: Door, caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    same = {"path": "/memories/a.md", "old_str": "one", "new_str": "two"}
    caller.call("str_replace", id="toolu_same", **same)
    made = caller.last.seq
    caller.replace("/a.md", "two", "three")
    for _ in range(120):
        view(caller, "/a.md", "busy")
    old = MemoryVersion.objects.get(memory=memory, number=2)
    caller.session = "late"
    late = caller.read(old.pk, door).seq
    caller.call("str_replace", id="toolu_same", **same)
    repeated = caller.last.seq
    assert seen(bob, memory, version=2) == {(made, 2), (late, 2), (repeated, 2)}
    assert {(late, 2), (repeated, 2)} <= seen(bob, memory, version=2, line=1)


def test_reads_by_id_of_several_versions_are_paged_in_order(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "same\n0\n")
    for number in range(8):
        caller.replace("/a.md", str(number), str(number + 1))
    versions = list(MemoryVersion.objects.filter(memory=memory).order_by("number"))
    reads = {(caller.read(version.pk).seq, version.number) for _ in range(4) for version in versions}
    reads |= {(version.seq, version.number) for version in versions[1:]}
    for name, value in (("LOOK", 9), ("CHUNK", 4), ("MOST_RANGES", 1)):
        monkeypatch.setattr(readers_query, name, value)
    assert seen(bob, memory, version=1, line=1) == reads


# ------------------------------------------------------------------------------------------ searches and exports


def test_a_search_that_showed_the_text_is_told_with_its_lines(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\npoison\nthree\npoison again\n")
    caller.create("/b.md", "poison too\n")
    caller.session = "finder"
    found = caller.search("poison").seq
    caller.search("nothing")
    caller.search("a.md")
    assert seen(bob, memory, version=1) == {(found, 1)}
    assert seen(bob, memory, version=1, line=2) == {(found, 1)}
    assert seen(bob, memory, version=1, line=3) == set()
    body = readers(bob, memory, version=1).content.decode()
    assert "found in a search" in body and "version 1, lines 2, 4" in body
    assert "No one has seen" not in body


def test_a_search_counts_for_the_version_that_it_found(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "poison\n")
    first = caller.search("poison").seq
    caller.replace("/a.md", "poison", "poison, more of it")
    second = caller.search("poison").seq
    assert seen(bob, memory, version=1) == {(first, 1)}
    assert seen(bob, memory, version=2) == {(second, 2), (second - 1, 2)}
    redact(memory, 1)
    assert seen(bob, memory, version=1) == {(first, 1)}


def test_of_many_searches_the_newest_are_examined_and_the_page_says_so(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "poison\n")
    first = caller.search("poison").seq
    monkeypatch.setattr(readers_query, "SEARCHES", 2)
    for _ in range(2):
        caller.search("nothing")
    body = readers(bob, memory).content.decode()
    assert "No one is known to have seen this memory" in body
    assert f"The searches up to entry {first} were not examined" in body


def test_a_search_whose_query_is_kept_in_part_may_have_shown_any_line(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", f"{POISON}\nprevious\n")
    caller.session = "finder"
    bold = "".join(chr(0x1D41A + ord(letter) - ord("a")) for letter in "previous")
    found = caller.search(" ".join([bold] * 55)).seq
    assert len(AuditEntry.objects.get(chain=memory.store_id, seq=found).input or "") < 5_000
    assert seen(bob, memory, version=1, line=1) == {(found, 1)}
    for address in ("/", reverse("memory", args=[memory.store_id, memory.pk])):
        assert signed_in(alice).get(address).status_code == 200


def test_of_long_texts_only_some_searches_are_looked_into_again(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "poison\nharmless\n")
    looked: list[str] = []
    known = search.lines_found

    def counted(query: str, path: str, text: str) -> list[int] | None:
        looked.append(query)
        return known(query, path, text)

    monkeypatch.setattr(search, "lines_found", counted)
    caller.session = "finder"
    same = [caller.search("harmless").seq for _ in range(9)]
    assert not seen(bob, memory, version=1, line=1)
    assert looked == ["harmless"], "the same search of the same text is looked into once"
    monkeypatch.setattr(readers_query, "MOST_SEARCHED", 3)
    assert {seq for seq, _ in seen(bob, memory, version=1, line=1)} == set(same)


def test_exports_and_reveals_are_told(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    other = caller.create("/b.md", "two\n")
    findings.reveal(memory.store_id, memory.head_id, act(alice))
    revealed = caller.last.seq
    exporting.begin(memory.store_id, exporting.Wanted("zip", chosen=Chosen((memory.pk,))), act(alice))
    assert seen(bob, memory) == {(revealed, 1), (revealed + 1, 1)}
    body = readers(bob, memory).content.decode()
    assert "revealed" in body and "exported" in body and "may have contained it" not in body
    exporting.begin(memory.store_id, exporting.Wanted("zip"), act(alice))
    for each in (memory, other):
        assert "may have contained it" in readers(bob, each).content.decode()
    assert "No one is known to have seen this memory" in readers(bob, other).content.decode()


def test_what_a_session_found_in_a_search_it_knew(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\npoison\n")
    caller.session = "finder"
    caller.search("poison")
    caller.search("nothing")
    session = Session.objects.get(name="finder")
    known = signed_in(bob).get(reverse("session", args=[session.pk])).context["known"]
    assert [(piece.version.pk, piece.searched, list(piece.spans)) for piece in known.pieces] == [
        (memory.head_id, True, [])
    ]
