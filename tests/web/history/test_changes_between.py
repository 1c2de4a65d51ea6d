"""What differs between two entries: each memory once, whatever happened in between, and nothing left out."""

from random import Random

import pytest

from memoryhub.models import Memory, MemoryStore
from memoryhub.web.history.changes import between as changes_between
from memoryhub.web.history.changes.between import Difference, Kind, Wanted, page
from memoryhub.web.history.moments import past
from tests.support.long import LONG, tried
from tests.web.history.past import History, Tree
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def all_of(wanted: Wanted) -> list[Difference]:
    """The rows of all pages."""
    rows: list[Difference] = []
    before = ""
    for _ in range(1000):
        found = page(wanted, before)
        rows += found.rows
        if found.next is None:
            return rows
        assert found.next != before
        before = found.next
    raise AssertionError("there is no end of pages")


def expected(old: Tree, new: Tree) -> dict[str, tuple[str | None, str | None, bool]]:
    """(path before, path after, is the text another one) by memory, where they differ."""
    was = {memory: (path, text) for path, (memory, text) in old.items()}
    now = {memory: (path, text) for path, (memory, text) in new.items()}
    both = {memory: (was.get(memory), now.get(memory)) for memory in was | now}
    return {memory: (a and a[0], b and b[0], (a and a[1]) != (b and b[1])) for memory, (a, b) in both.items() if a != b}


def found(rows: list[Difference]) -> dict[str, tuple[str | None, str | None, bool]]:
    assert len({row.memory for row in rows}) == len(rows)
    told = {}
    for row in rows:
        differs = not row.before or not row.after or Kind.CHANGED in row.kinds
        told[row.memory] = (row.before and row.before.path, row.after and row.after.path, bool(differs))
    return told


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("seed", range(tried(10)))
@pytest.mark.parametrize("limits", [{}, {"SIZE": 1, "FEW": 1, "MANY": 2}, {"FEW": 2, "MANY": 3, "MOST_ROWS": 4}])
def test_any_two_moments_differ_as_a_replay_says(
    seed: int, limits: dict[str, int], caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(changes_between, name, value)
    random = Random(seed)
    trees = {0: {}, **History(caller, random).run(50 if LONG else 30).trees}
    for _ in range(25 if LONG else 10):
        first, last = sorted(random.choices(sorted(trees), k=2))
        rows = all_of(Wanted(caller.store.id, first, last))
        assert found(rows) == expected(trees[first], trees[last]), (first, last)


def test_a_memory_that_changed_often_is_there_once_with_both_its_ends(caller: Caller) -> None:
    caller.create("/a.md", "0")
    first = caller.last.seq
    for number in range(50):
        caller.replace("/a.md", str(number), str(number + 1))
    (row,) = all_of(Wanted(caller.store.id, first, caller.last.seq))
    assert row.before and row.after
    assert (row.before.number, row.after.number, row.kinds) == (1, 51, (Kind.CHANGED,))


def test_what_came_and_went_in_between_is_no_difference(caller: Caller) -> None:
    caller.create("/stays.md", "x")
    first = caller.last.seq
    caller.create("/short.md", "x")
    caller.delete("/short.md")
    caller.replace("/stays.md", "x", "y")
    caller.replace("/stays.md", "y", "x")
    assert all_of(Wanted(caller.store.id, first, caller.last.seq)) == []


def test_a_directory_and_a_kind_narrow_it(caller: Caller) -> None:
    for path in ("/a/1.md", "/a/2.md", "/b/3.md", "/b/4.md"):
        caller.create(path, "x")
    first = caller.last.seq
    caller.call("rename", old_path="/memories/a/1.md", new_path="/memories/b/1.md")
    caller.replace("/a/2.md", "x", "y")
    caller.delete("/b/4.md")
    caller.create("/b/5.md", "x")
    last = caller.last.seq

    def paths(path: str = "", kind: Kind | None = None) -> list[str]:
        return [row.path for row in all_of(Wanted(caller.store.id, first, last, path, kind))]

    assert paths() == ["/a/2.md", "/b/1.md", "/b/4.md", "/b/5.md"]
    assert paths("/a") == ["/a/2.md", "/b/1.md"]
    assert [paths(kind=kind) for kind in Kind] == [["/b/5.md"], ["/a/2.md"], ["/b/1.md"], ["/b/4.md"]]


def test_counts_tell_of_all_kinds_whichever_is_shown(caller: Caller) -> None:
    caller.create("/a.md", "x")
    caller.create("/b.md", "x")
    result = page(Wanted(caller.store.id, 0, caller.last.seq, kind=Kind.DELETED))
    assert (list(result.rows), result.counts, result.next) == ([], {Kind.ADDED: 2}, None)


@pytest.mark.parametrize("place", ["", "-", "x-y", "1", "99999999999999999999-a", "-3-memver_x"])
def test_a_place_that_is_none_is_the_beginning(place: str, caller: Caller) -> None:
    caller.create("/a.md", "x")
    assert [row.path for row in page(Wanted(caller.store.id, 0, caller.last.seq), place).rows] == ["/a.md"]


@pytest.mark.both_databases
def test_the_version_at_a_moment_is_found_among_many_by_halving(
    caller: Caller, django_assert_max_num_queries: object
) -> None:
    memory = caller.create("/a.md", "0")
    seqs = [caller.last.seq]
    for number in range(60):
        caller.call("view", path="/memories")
        caller.replace("/a.md", str(number), str(number + 1))
        seqs.append(caller.last.seq)
    memory = Memory.objects.get(pk=memory.pk)
    for place in (0, 1, 30, 59, 60):
        for seq in (seqs[place], seqs[place] + 1):
            with django_assert_max_num_queries(7):  # type: ignore[operator]
                at = past.versions_at(memory.store_id, {memory.pk: memory.version_count}, seq)
            assert at[memory.pk].number == place + 1
    assert past.versions_at(memory.store_id, {memory.pk: memory.version_count}, seqs[0] - 1) == {}
