"""The direct children of a directory after one entry, derived from memory versions with bounded work.

A directory existed as long as it had a memory. Names are found by a skip scan of the index (store, path, seq), so a
page of a large store costs no more than a page of a small one. A page ends early (`is_cut`) after MOST_STEPS names or
MOST_ROWS versions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memoryhub.actions.history import past
from memoryhub.actions.history.past import Name
from memoryhub.models import MemoryVersion, Operation
from memoryhub.pure.protocol import paths

SIZE = 200
MOST_STEPS = 3_000
MOST_ROWS = 60_000
SLICE = 8_192
"""The number of versions scanned in one query."""

TOGETHER = 4
"""The number of versions read at one path. One entry leaves at most two versions there; reading a few more is
harmless."""


class Found(NamedTuple):
    """The version of a listed memory that was current after the entry."""

    path: str
    version: str
    memory: str
    number: int
    seq: int
    size: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """A directory (`found` is None) or a memory in the list."""

    name: str
    path: str
    found: Found | None

    @property
    def is_directory(self) -> bool:
        return self.found is None

    @property
    def hidden(self) -> bool:
        return paths.has_hidden(self.path)


@dataclass(frozen=True, slots=True)
class Listing:
    """Up to SIZE names in the order of paths; `next` is where the next page begins, or None.

    `is_cut` means that the page ended early because its work was limited.
    """

    items: list[Item]
    next: str | None
    is_cut: bool

    @property
    def directories_first(self) -> list[Item]:
        return sorted(self.items, key=lambda item: (not item.is_directory, item.name))


def listing(store_id: str, directory: str, seq: int, after: str = "") -> Listing:
    """Return a page of the children of a directory after the entry `seq`. `after` is the `next` of the previous
    page."""
    low, high = paths.subtree(directory)
    begin = after if low < after < high else low
    names = past.names_at(store_id, (low, begin, high), seq, steps=MOST_STEPS, most=SIZE + 1)
    found = _versions(store_id, [name.was for name in names if name.was not in (None, past.THERE, past.UNKNOWN)])
    items: list[Item] = []
    budget = MOST_ROWS
    for name in names[:SIZE]:
        if name.was == past.UNKNOWN:
            was, at, budget = _anything(store_id, name.place, paths.subtree(_whole(name, low))[1], seq, budget)
            if was is None:
                return Listing(items, at, True)
            if not was:
                continue
        if name.was is not None:
            items.append(_item(name, low, found))
    return Listing(items, *_end(names, low, high))


def _end(names: Sequence[Name], low: str, high: str) -> tuple[str | None, bool]:
    """Return where the next page begins (or None), and whether this page ended early."""
    if len(names) > SIZE:
        return names[SIZE].place, False
    if names and names[-1].step >= MOST_STEPS:
        last = _whole(names[-1], low)
        place = paths.subtree(last)[1] if last != names[-1].place else last + " "
        return (place, True) if place < high else (None, False)
    return None, False


def _whole(name: Name, low: str) -> str:
    """Return the path of the direct child of the directory `low` that is, or contains, the path `name.place`."""
    return low + name.place[len(low) :].partition("/")[0]


def _item(name: Name, low: str, found: Mapping[str, Found]) -> Item:
    path = _whole(name, low)
    return Item(path[len(low) :], path, found.get(name.was or ""))


def _versions(store_id: str, ids: Collection[str | None]) -> dict[str, Found]:
    rows = MemoryVersion.objects.among(store_id, [id for id in ids if id]).only(*_FIELDS)
    return {version.pk: _found(version) for version in rows}


def _anything(store_id: str, low: str, high: str, seq: int, budget: int) -> tuple[bool | None, str, int]:
    """Return three values about the versions between the paths `low` and `high`.

    The first is whether one of them was current after the entry `seq`; None if the budget was used up before this
    was known. The others are the path at which the scan ended, and what is left of `budget` (a number of versions).
    """
    beneath = MemoryVersion.objects.filter(store_id=store_id, path__lt=high, seq__lte=seq)
    at = low
    while budget > 0:
        here = beneath.filter(path__gte=at)
        bound = here.order_by("path", "seq").values_list("path", flat=True)[SLICE : SLICE + 1].first()
        within = here if bound is None else here.filter(path__lt=bound)
        if bound == at:  # this path alone has more versions than a slice
            if alive_at(store_id, at, seq) is not None:
                return True, at, budget
            bound = at + " "  # no path has a character below the space, so this is the next possible path
        elif within.as_of(seq).exists():
            return True, at, budget
        if bound is None:
            return False, at, budget
        at, budget = bound, budget - SLICE
    return None, at, budget


def was_there(store_id: str, directory: str, seq: int) -> bool:
    """Return whether a directory had any children after the entry `seq`, or may have had some."""
    found = listing(store_id, directory, seq)
    return bool(found.items or found.next)


def alive_at(store_id: str, path: str, seq: int) -> MemoryVersion | None:
    """Return the version that was current at a path after the entry `seq`, or None.

    Only the last TOGETHER versions at the path are examined, because one entry leaves at most two versions at a path.
    """
    at_path = MemoryVersion.objects.filter(store_id=store_id).at(path).filter(seq__lte=seq)
    newest = at_path.order_by("-seq")[:TOGETHER]
    return next((version for version in newest if _was_current(version, seq)), None)


def _was_current(version: MemoryVersion, seq: int) -> bool:
    superseded = version.superseded_seq is not None and version.superseded_seq <= seq
    return version.seq <= seq and not superseded and version.operation != Operation.DELETED


_FIELDS = ("path", "memory_id", "number", "seq", "size", "created_at")


def _found(version: MemoryVersion) -> Found:
    return Found(
        version.path or "", version.pk, version.memory_id, version.number, version.seq, version.size, version.created_at
    )
