"""Directories as they were: every listing at every entry is what a replay says, however little one page may do."""

from random import Random

import pytest

from memoryhub.actions.history import past
from memoryhub.models import MemoryStore
from memoryhub.web.history.moments import listing as moments_listing
from memoryhub.web.history.moments.listing import listing
from tests.support.long import LONG, tried
from tests.web.history.past import History, children, directories
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def whole(store: MemoryStore, directory: str, seq: int) -> tuple[list[tuple[str, bool]], int]:
    """(name, is it a directory) of all pages together, and how many pages there were."""
    names: list[tuple[str, bool]] = []
    after, pages = "", 0
    while True:
        page = listing(store.id, directory, seq, after)
        names += [(item.name, item.is_directory) for item in page.items]
        pages += 1
        assert pages < 1000
        if page.next is None:
            return names, pages
        assert page.next != after
        after = page.next


@pytest.mark.push
@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(tried(10)))
@pytest.mark.parametrize(
    "limits",
    [{}, {"SIZE": 3}, {"SIZE": 2, "MOST_STEPS": 3}, {"SLICE": 2}, {"MOST_STEPS": 1, "SLICE": 1, "MOST_ROWS": 3}],
)
def test_every_directory_at_every_entry_is_what_a_replay_says(
    seed: int, limits: dict[str, int], store: MemoryStore, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(moments_listing, name, value)
    if limits:
        monkeypatch.setattr(past, "FEW", 0)
    if "SLICE" in limits:
        monkeypatch.setattr(past, "LOOK", 1)
    history = History(Caller(store, key), Random(seed)).run(40 if LONG else 25)
    assert any(len(tree) > 3 for tree in history.trees.values())
    for seq, tree in history.trees.items():
        for directory in directories(tree):
            found, _ = whole(store, directory, seq)
            assert len(found) == len(dict(found))
            assert dict(found) == children(tree, directory), (seq, directory)
            shown = listing(store.id, directory, seq).items
            assert all(tree[item.path][0] == item.found.memory for item in shown if item.found)


def test_what_is_not_there_has_no_items(store: MemoryStore, key: str) -> None:
    Caller(store, key).create("/a/b.md", "x")
    for place in ("/b", "/a/b.md", "/a/b", "/\U0010ffff"):
        assert whole(store, place, 100) == ([], 1)


def test_a_hundred_versions_of_one_memory_are_stepped_over(store: MemoryStore, key: str) -> None:
    caller = Caller(store, key)
    caller.create("/a.md", "0")
    before = caller.last.seq
    for number in range(100):
        caller.replace("/a.md", str(number), str(number + 1))
    caller.create("/b.md", "x")
    assert whole(store, "", before) == ([("a.md", False)], 1)
    assert whole(store, "", caller.last.seq) == ([("a.md", False), ("b.md", False)], 1)


def test_a_page_costs_as_many_questions_in_a_large_directory_as_in_a_small_one(
    store: MemoryStore, key: str, django_assert_max_num_queries: object
) -> None:
    """Of directories each costs one question, whatever lies in it."""
    caller = Caller(store, key)
    for number in range(60):
        caller.create(f"/a/{number:03}.md", "x")
        caller.create(f"/b/deep/{number:03}.md", "x")
    seq = caller.last.seq
    with django_assert_max_num_queries(2):  # type: ignore[operator]
        names, _ = whole(store, "", seq)
    assert names == [("a", True), ("b", True)]


def test_names_around_the_slash_keep_their_order(store: MemoryStore, key: str) -> None:
    caller = Caller(store, key)
    for path in ("/a-b.md", "/a/x.md", "/a.md", "/a0.md", "/a b.md"):
        caller.create(path, "x")
    names, _ = whole(store, "", caller.last.seq)
    assert names == [("a b.md", False), ("a-b.md", False), ("a.md", False), ("a", True), ("a0.md", False)]
    shown = listing(store.id, "", caller.last.seq).directories_first
    assert shown[0].name == "a"
