"""A tree map: nested rectangles whose areas are proportional to sizes.

Only the largest directories and memories get a rectangle of their own. All other parts of a directory together are one
rectangle, its rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 800.0, 400.0
"""The box in which a map is laid out, so that its rectangles are as square as possible."""

LEAST = 1 / 1000
"""The least share of the whole size that a memory or a directory needs for a rectangle of its own."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory at a path, with its size in bytes."""

    id: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory (the root is at ""), with the number and the size of all memories in it and under it."""

    path: str
    count: int
    size: int


@dataclass(slots=True)
class Node:
    """A memory, a directory, or the rest of a directory (`is_rest`), before it gets a rectangle.

    `count` is the number of memories in the node. `memory` is the id of the memory ("": the node is no memory). The
    `path` of a rest is the path of its directory.
    """

    path: str
    size: int
    count: int
    memory: str = ""
    is_rest: bool = False
    children: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Area:
    """A node and its rectangle. `above` is the number of directories around it that begin at the same corner."""

    node: Node
    box: Box
    above: int = 0

    @property
    def is_leaf(self) -> bool:
        return not self.node.children


def tree(root: Directory, directories: Iterable[Directory], memories: Iterable[Memory]) -> Node:
    """Return the root with the directories and memories whose size is at least LEAST times the size of the root.

    A directory or a memory is put into the nearest directory above it that is in the tree. In each directory, a rest
    replaces everything else.
    """
    least = root.size * LEAST
    nodes = {"": Node("", root.size, root.count)}
    for directory in sorted(directories, key=lambda directory: directory.path):
        if directory.path and directory.size >= least and directory.size > 0:
            node = Node(directory.path, directory.size, directory.count)
            _above(nodes, directory.path).children.append(node)
            nodes[directory.path] = node
    for memory in memories:
        if memory.size >= least and memory.size > 0:
            _above(nodes, memory.path).children.append(Node(memory.path, memory.size, 1, memory.id))
    for node in nodes.values():
        _add_rest(node)
    return nodes[""]


def _above(nodes: dict[str, Node], path: str) -> Node:
    place = path.rpartition("/")[0]
    while place not in nodes:
        place = place.rpartition("/")[0]
    return nodes[place]


def _add_rest(node: Node) -> None:
    """Add a rest to a directory with children, for the part of its size that is not in the children."""
    if not node.children:
        return
    known = sum(child.size for child in node.children)
    node.size = max(node.size, known)
    if node.size > known:
        count = max(1, node.count - sum(child.count for child in node.children))
        node.children.append(Node(node.path, node.size - known, count, is_rest=True))


def areas(root: Node, box: Box = Box(0, 0, WIDTH, HEIGHT)) -> list[Area]:
    """Return the areas of everything in a directory, each directory before its contents."""
    return list(_areas(root, box, 0))


def _areas(node: Node, box: Box, above: int) -> Iterator[Area]:
    children = sorted(node.children, key=lambda child: (child.is_rest, -child.size, child.path))
    for child, place in zip(children, squarified([child.size for child in children], box), strict=True):
        same = above if (place.x, place.y) == (box.x, box.y) else 0
        yield Area(child, place, same)
        yield from _areas(child, place, same + 1)


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Return a rectangle for each size. They fill the box, and each row of rectangles is as square as it can be."""
    found: list[Box] = []
    left, start = box, 0
    total = sum(sizes)
    while start < len(sizes):
        scale = left.width * left.height / total if total > 0 else 0.0
        end = _row(sizes, start, min(left.width, left.height), scale)
        row = sizes[start:end]
        is_last = end == len(sizes)
        placed, left = _placed(row, left, 1.0 if is_last or total <= 0 else sum(row) / total)
        found += placed
        total -= sum(row)
        start = end
    return found


def _row(sizes: Sequence[float], start: int, side: float, scale: float) -> int:
    """Return the end of the row of rectangles that begins at `start`.

    Rectangles are added to the row until one more would make the thinnest rectangle of the row thinner.
    """
    end, worst = start + 1, _worst(sizes[start : start + 1], side, scale)
    while end < len(sizes) and (longer := _worst(sizes[start : end + 1], side, scale)) <= worst:
        end, worst = end + 1, longer
    return end


def _worst(row: Sequence[float], side: float, scale: float) -> float:
    """Return the longer side of a row's thinnest rectangle, divided by its shorter side. `side` is the length of the
    row."""
    total = sum(row) * scale
    if total <= 0 or side <= 0:
        return 0.0
    depth = total / side
    lengths = [size * scale / depth for size in row]
    return max(max(depth / length, length / depth) if length > 0 else float("inf") for length in lengths)


def _placed(row: Sequence[float], box: Box, share: float) -> tuple[list[Box], Box]:
    """Return the rectangles of a row along the shorter side of a box, and what remains of the box.

    The row takes `share` (from 0 to 1) of the longer side.
    """
    total, found, done = sum(row), [], 0.0
    is_wide = box.width >= box.height
    depth = (box.width if is_wide else box.height) * share
    side = box.height if is_wide else box.width
    for size in row:
        part = size / total if total > 0 else 1 / len(row)
        if is_wide:
            found.append(Box(box.x, box.y + done * side, depth, part * side))
        else:
            found.append(Box(box.x + done * side, box.y, part * side, depth))
        done += part
    if is_wide:
        return found, Box(box.x + depth, box.y, box.width - depth, box.height)
    return found, Box(box.x, box.y + depth, box.width, box.height - depth)
