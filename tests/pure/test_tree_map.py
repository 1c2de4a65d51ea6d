"""Tree maps: areas are as large as what they stand for, nothing overlaps, and everything has its place."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from memoryhub.pure import tree_map
from memoryhub.pure.tree_map import Area, Box, Directory, Memory, Node

NAMES = st.sampled_from("abcd")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
STORES = st.dictionaries(PATHS.map(lambda path: path + ".md"), st.integers(0, 10**6), min_size=1, max_size=25)


def overlap(one: Box, other: Box) -> float:
    """The area that two rectangles share."""
    wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return max(0.0, wide) * max(0.0, high)


def is_inside(one: Box, other: Box) -> bool:
    return overlap(one, other) == pytest.approx(one.width * one.height, abs=1e-3)


def directories_of(sizes: dict[str, int]) -> list[Directory]:
    """What a store counts for each directory, found by asking each memory."""
    places = {path.rsplit("/", depth)[0] for path in sizes for depth in range(1, path.count("/") + 1)}
    return [
        Directory(place, len(within), sum(within))
        for place in places
        for within in [[size for path, size in sizes.items() if path.startswith(place + "/")]]
    ]


def drawn(sizes: dict[str, int], most_directories: int, most_memories: int) -> tuple[Node, list[Area]]:
    """The map of a store of which only the largest directories and memories are known."""
    directories = sorted(directories_of(sizes), key=lambda directory: -directory.size)
    root = next(directory for directory in directories if not directory.path)
    largest = sorted(sizes, key=lambda path: -sizes[path])[:most_memories]
    found = tree_map.tree(root, directories[:most_directories], [Memory(path, path, sizes[path]) for path in largest])
    return found, tree_map.areas(found)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_rectangles_fill_the_box_in_proportion_and_do_not_overlap(sizes: list[int]) -> None:
    box = Box(10, 20, 300, 200)
    found = tree_map.squarified(sorted(sizes, reverse=True), box)
    for size, place in zip(sorted(sizes, reverse=True), found, strict=True):
        assert place.width * place.height == pytest.approx(60_000 * size / sum(sizes), abs=1e-3)
        assert is_inside(place, box)
    assert all(overlap(one, other) < 1e-3 for one, other in combinations(found, 2))


@given(STORES, st.integers(0, 30), st.integers(0, 25))
def test_leaves_stand_for_the_whole_store_however_little_is_known_of_it(
    sizes: dict[str, int], most_directories: int, most_memories: int
) -> None:
    root, found = drawn(sizes, most_directories, most_memories)
    leaves = [area for area in found if area.is_leaf]
    total = sum(sizes.values())
    for area in found:
        share = tree_map.WIDTH * tree_map.HEIGHT * area.node.size / max(total, 1)
        assert area.box.width * area.box.height == pytest.approx(share, abs=0.01)
    assert all(overlap(one.box, other.box) < 0.01 for one, other in combinations(leaves, 2))
    if root.children:
        assert sum(area.node.size for area in leaves) == total


@given(STORES, st.integers(0, 30), st.integers(0, 25))
def test_a_directory_surrounds_what_lies_in_it(sizes: dict[str, int], directories: int, memories: int) -> None:
    _root, found = drawn(sizes, directories, memories)
    for outer in found:
        for inner in found:
            if not outer.is_leaf and inner.node.path.startswith(outer.node.path + "/"):
                assert is_inside(inner.box, outer.box)


@given(STORES)
def test_with_all_known_each_memory_that_is_large_enough_has_a_rectangle_of_its_size(sizes: dict[str, int]) -> None:
    _root, found = drawn(sizes, 99, 99)
    least = sum(sizes.values()) * tree_map.LEAST
    own = {area.node.path: area.node.size for area in found if area.node.memory}
    assert own == {path: size for path, size in sizes.items() if size >= least and size > 0}


def test_the_rest_of_a_directory_is_one_rectangle_with_its_number() -> None:
    sizes = {"/a/1.md": 50, "/a/2.md": 30, "/a/3.md": 20}
    _root, found = drawn(sizes, 99, 1)
    assert [(area.node.path, area.node.size, area.node.count, area.node.is_rest) for area in found] == [
        ("/a", 100, 3, False), ("/a/1.md", 50, 1, False), ("/a", 50, 2, True),
    ]  # fmt: skip


def test_an_empty_store_has_no_rectangle() -> None:
    assert tree_map.areas(tree_map.tree(Directory("", 0, 0), [], [])) == []
