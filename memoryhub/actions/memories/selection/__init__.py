"""Acts on the items that a person selects in a list. Each act is one transaction with one audit entry.

A person first sees what is selected. The digest of the selection must still be the same when the act runs.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.actions.core import audit, plans, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.plans import TooMuch
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Directory, Memory
from memoryhub.models.memories import DirectoryQuerySet, MemoryQuerySet
from memoryhub.pure.ids import DIRECTORY, MEMORY
from memoryhub.pure.protocol import paths

__all__ = ["Chosen", "Done", "Item", "NotDone", "Selected", "TooMuch", "selected"]

MOST_TOLD = 100
"""The most paths in an entry's input; the entry's versions name all memories."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selection of a person: memories and directories by their `ids`, or everything in a directory
    (`everything_in`)."""

    ids: tuple[str, ...] = ()
    everything_in: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A selected memory, or a selected directory (then `memory` is None).

    A directory has `count` memories, with `size` bytes in total. Its `changed_at` is the time of the last write in it.
    """

    id: str
    path: str
    count: int
    size: int
    memory: StoredMemory | None
    changed_at: datetime | None = None

    @property
    def is_directory(self) -> bool:
        return self.memory is None

    @property
    def name(self) -> str:
        return paths.name(self.path)

    @property
    def sign(self) -> tuple[str, str, object]:
        """Return a tuple that changes with every write to the item."""
        return self.id, self.path, self.memory.head if self.memory else [self.count, self.size, str(self.changed_at)]


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected items, sorted by path. No item is inside another one.

    `vanished` counts the selected ids that no longer exist.
    """

    items: tuple[Item, ...]
    vanished: int

    @property
    def count(self) -> int:
        return sum(item.count for item in self.items)

    @property
    def size(self) -> int:
        return sum(item.size for item in self.items)

    @property
    def digest(self) -> str:
        return digest_of([[item.sign for item in self.items], self.vanished])


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an act: the entry's seq, and how many memories were changed."""

    seq: int
    count: int


class NotDone(Exception):
    """Nothing was done: the plan has changed since it was shown (`changed`), or an obstacle prevents the act.

    `plan` is the current plan or selection.
    """

    def __init__(self, plan: Any, *, changed: bool) -> None:
        super().__init__("the plan changed or cannot be applied")
        self.plan, self.changed = plan, changed


def selected(store_id: str, chosen: Chosen, *, most: int | None = plans.MOST) -> Selected:
    """Return the items that are selected now. Raises TooMuch for more than `most` memories."""
    if chosen.everything_in is None:
        found = _of_ids(store_id, chosen.ids)
    else:
        found = _all_in(store_id, chosen.everything_in, most)
    if most is not None and found.count > most:
        raise TooMuch(found.count, most)
    return found


# ------------------------------------------------------------------------------------------------ reading


def stored(memory: Memory) -> StoredMemory:
    """Return the row of a memory as a StoredMemory, for the functions of the tree. Its text is empty."""
    return StoredMemory(
        memory.pk,
        memory.path,
        memory.head_id,
        memory.text_id or "",
        memory.size,
        memory.sha256,
        memory.version_count,
        memory.removed_versions,
        "",
    )


def digest_of(seen: object) -> str:
    return hashlib.sha256(json.dumps(seen, ensure_ascii=True).encode()).hexdigest()


def _all_in(store_id: str, path: str, most: int | None) -> Selected:
    directory = Directory.objects.filter(store_id=store_id).at(path).first()
    if directory is None:
        return Selected((), 1)
    if most is not None and directory.memory_count > most:
        raise TooMuch(directory.memory_count, most)
    return Selected(_items(Directory.objects.in_directory(directory), Memory.objects.in_directory(directory)), 0)


def _of_ids(store_id: str, ids: Iterable[str]) -> Selected:
    wanted = set(ids)
    directories, memories = [], []
    for part in plans.in_parts(sorted(wanted)):
        directories += list(Directory.objects.filter(store_id=store_id, pk__in=_named(part, DIRECTORY)))
        memories += list(Memory.objects.live().among(store_id, _named(part, MEMORY)))
    items = _items([row for row in directories if row.path], memories)
    vanished = len(wanted) - len(items)
    above = {item.path for item in items if item.is_directory}
    return Selected(tuple(item for item in items if above.isdisjoint(paths.ancestors(item.path))), vanished)


def _named(ids: Iterable[str], prefix: str) -> list[str]:
    return [id for id in ids if id.startswith(prefix)]


def _items(
    directories: DirectoryQuerySet | Iterable[Directory], memories: MemoryQuerySet | Iterable[Memory]
) -> tuple[Item, ...]:
    found = [*map(_directory, directories), *map(_memory, memories)]
    return tuple(sorted(found, key=lambda item: item.path))


def _directory(row: Directory) -> Item:
    return Item(row.pk, row.path, row.memory_count, row.total_bytes, None, row.changed_at)


def _memory(row: Memory) -> Item:
    return Item(row.pk, row.path, 1, row.size, stored(row))


# ------------------------------------------------------------------------------------------------ audit entries


def commit(store: Tree, command: str, items: Sequence[Item], new_path: str | None = None, **details: object) -> Done:
    """Write the entry of an act whose versions have been made, and return the result.

    `new_path` is recorded only for a single item.
    """
    made = tuple(store.made)
    record = _record(command, items, details)._replace(versions=made, new_path=new_path if len(items) == 1 else None)
    if len(made) == 1 and record.memory:
        record = record._replace(version=made[0].id)
    return Done(tree.commit(store, record), len(made))


def _record(command: str, items: Sequence[Item], details: dict[str, Any]) -> Record:
    """Return the record of an act on `items`, with their totals and the first paths (see `named_of`)."""
    count, size = sum(item.count for item in items), sum(item.size for item in items)
    said = {**details, "paths": list(named_of(items)), "memories": count, "size": size, "selected": len(items)}
    one = items[0] if len(items) == 1 else None
    return Record(
        command,
        path=one.path or None if one else None,
        memory=one.memory.id if one and one.memory else None,
        version=one.memory.head if one and one.memory else None,
        input=audit.to_json(said),
    )


def named_of(items: Sequence[Item]) -> Iterator[str]:
    """Yield the paths of the first MOST_TOLD items. A directory's path ends with a slash."""
    for item in items[:MOST_TOLD]:
        yield item.path + "/" if item.is_directory else item.path
