"""The tree beside a page, expanded down to the page's directory or memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from memoryhub.models import Directory, Memory, MemoryStore
from memoryhub.pure.protocol import paths
from memoryhub.web.common import addresses
from memoryhub.web.common.marks import marks_of, of_store
from memoryhub.web.memories import listing
from memoryhub.web.memories.listing import Item


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree; `children` is None for a directory that is not expanded."""

    item: Item
    children_url: str
    current: bool = False
    children: "Branch | None" = None

    @property
    def level(self) -> int:
        """Return the depth in the tree; children of the root have level 1."""
        return self.item.path.count("/")


@dataclass(frozen=True, slots=True)
class Branch:
    """One page of the children of a directory, as lines of the tree."""

    nodes: Sequence[Node]
    level: int
    more_url: str | None = None  # loads the next lines into the tree
    more_page: str | None = None  # the directory's page with the next lines
    beyond: Node | None = None  # the expanded or current line, if it is on a later page


def branch(directory: Directory, after: str = "") -> Branch:
    """Return the page of a directory's children that follows the key `after`. No child is expanded."""
    page = listing.children(directory, after)
    return _branch(directory, page, None)


def opened(store: MemoryStore, path: str, memory: Memory | None = None, listed: listing.Page | None = None) -> Branch:
    """Return the store's tree, expanded down to the directory `path`, or to a `memory` in it.

    `listed` is the first page of the directory's children, if it is known.
    """
    places = [*paths.ancestors(path), path]
    rows = list(Directory.objects.filter(store=store).at_any(places))
    now = timezone.now()
    known, inner = listed.known if listed else of_store(store.pk, now), None
    if memory:
        marks = marks_of([memory], now, {store.pk: known.holds})
        inner = Node(listing.memory_item(memory, marks[memory.pk]), "", current=True)
    for directory in reversed(rows):
        here = listed if directory.path == path else None
        beneath = _branch(directory, here or listing.children(directory, known=known), inner)
        current = memory is None and directory.path == path
        children = addresses.of_children(directory.store_id, directory.path)
        inner = Node(listing.directory_item(directory, known), children, current, beneath)
    assert inner is not None and inner.children is not None  # every store has its root
    return inner.children


def _branch(directory: Directory, page: listing.Page, inner: Node | None) -> Branch:
    nodes = [_node(item, directory.store_id, inner) for item in page.items]
    beyond = None if any(node is inner for node in nodes) else inner
    store_id, path = directory.store_id, directory.path
    level = path.count("/") + 1
    if page.next is None:
        return Branch(nodes, level)
    return Branch(
        nodes,
        level,
        addresses.of_children(store_id, path, after=page.next),
        addresses.of_directory(store_id, path, after=page.next),
        beyond,
    )


def _node(item: Item, store_id: str, inner: Node | None) -> Node:
    if inner is not None and inner.item.id == item.id:
        return inner
    return Node(item, addresses.of_children(store_id, item.path) if item.is_directory else "")


def nearest(store: MemoryStore, path: str) -> Directory:
    """Return the directory at a path, or its closest existing parent."""
    places = [*paths.ancestors(path), path]
    found = Directory.objects.filter(store=store).at_any(places).last()
    assert found is not None  # every store has its root
    return found
