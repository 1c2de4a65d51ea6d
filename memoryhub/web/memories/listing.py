"""The direct children of a directory in pages: first directories, then memories, each sorted by code point."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from memoryhub.models import Directory, Memory
from memoryhub.pure.protocol import paths
from memoryhub.web.common import addresses
from memoryhub.web.common.marks import UNMARKED, Marks, OfStore, marks_of, of_store
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.origins import Origin

SIZE = 200
_DIRECTORY, _MEMORY = "d/", "m/"


@dataclass(frozen=True, slots=True)
class Item:
    """A directory or a memory in a list."""

    key: str
    id: str
    path: str
    name: str
    url: str
    size: int
    count: int | None  # None for a memory
    changed_at: datetime
    changed_seq: int | None
    changed_by: str | None
    hidden: bool  # the tool's directory views do not show it
    marks: Marks = UNMARKED

    @property
    def is_directory(self) -> bool:
        return self.count is not None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a directory's children."""

    items: Sequence[Item]
    next: str | None  # the key after which the next page begins, or None
    known: OfStore


def children(directory: Directory, after: str = "", known: OfStore | None = None) -> Page:
    """Return at most SIZE children after the key `after`, or the first ones if `after` is empty. `known` has the
    facts from which the marks of directories are made. If `known` is None, these facts are loaded."""
    known = known or of_store(directory.store_id, timezone.now())
    found: list[Item] = []
    if not after.startswith(_MEMORY):
        found = _directories(directory, after.removeprefix(_DIRECTORY), known)
    if len(found) <= SIZE:
        name = after.removeprefix(_MEMORY) if after.startswith(_MEMORY) else ""
        found += _memories(directory, name, SIZE + 1 - len(found), known)
    return Page(found[:SIZE], found[SIZE - 1].key if len(found) > SIZE else None, known)


def directory_item(directory: Directory, known: OfStore | None = None) -> Item:
    """Return a directory as an item of its parent's list. Without `known`, the item has no marks."""
    return Item(
        key=_DIRECTORY + directory.name,
        id=directory.id,
        path=directory.path,
        name=directory.name,
        url=addresses.of_directory(directory.store_id, directory.path),
        size=directory.total_bytes,
        count=directory.memory_count,
        changed_at=directory.changed_at,
        changed_seq=None,
        changed_by=None,
        hidden=is_hidden(directory.path),
        marks=known.directory(directory.path) if known else UNMARKED,
    )


def memory_item(memory: Memory, marks: Marks, imported: Origin | None = None) -> Item:
    """Return a memory as an item of its directory's list.

    If the newest version was imported, `imported` is its author. If the memory was not queried with
    `with_last_change()`, `changed_seq` is None; `changed_by` is also None, unless `imported` is given.
    """
    return Item(
        key=_MEMORY + memory.name,
        id=memory.id,
        path=memory.path,
        name=memory.name,
        url=reverse("memory", args=[memory.store_id, memory.id]),
        size=memory.size,
        count=None,
        changed_at=memory.updated_at,
        changed_seq=getattr(memory, "changed_seq", None),
        changed_by=imported.label if imported else getattr(memory, "changed_by", None),
        hidden=memory.is_hidden,
        marks=marks,
    )


def is_hidden(path: str) -> bool:
    """Return whether the tool's directory views hide this path, because of its own name or a parent's."""
    return any(paths.is_hidden(name) for name in path.split("/")[1:])


def _directories(directory: Directory, name: str, known: OfStore) -> list[Item]:
    rows = Directory.objects.in_directory(directory)
    if name:
        rows = rows.filter(path__gt=f"{directory.path}/{name}")
    return [directory_item(row, known) for row in rows[: SIZE + 1]]


def _memories(directory: Directory, name: str, limit: int, known: OfStore) -> list[Item]:
    rows = Memory.objects.in_directory(directory).with_last_change()
    if name:
        rows = rows.filter(name__gt=name)
    memories = list(rows[:limit])
    marks = marks_of(memories, timezone.now(), {directory.store_id: known.holds})
    imported = origins.of_origins((memory.pk, getattr(memory, "changed_origin", None)) for memory in memories)
    return [memory_item(memory, marks[memory.pk], imported.get(memory.pk)) for memory in memories]
