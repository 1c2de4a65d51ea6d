"""Reads that the page of readers finds only if it looks beyond the path and the time of a version."""

import pytest

from memoryhub.models import Door, MemoryStore, MemoryVersion, User
from memoryhub.web.sessions import readers_query
from tests.web.history.versions import Caller
from tests.web.sessions.reads import seen, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


@pytest.mark.both_databases
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


@pytest.mark.both_databases
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
