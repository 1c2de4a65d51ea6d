"""What lay directly in a directory after one entry, read from the memory versions with bounded work.

Directories have no past of their own: one was there while a memory under it was. So the names are found by skipping
through the index of the versions' paths (store, path, seq), and what a page costs depends on how many names it shows
and not on the store. Where many versions lie beneath a directory and the first of them were not current, they are
walked in slices; after MOST_STEPS names or MOST_ROWS versions a page ends where it is and says so.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memoryhub.actions.history import past
from memoryhub.actions.history.past import Name
from memoryhub.models import MemoryVersion, Operation
from memoryhub.protocol import paths

SIZE = 200
MOST_STEPS = 3_000
MOST_ROWS = 60_000
SLICE = 8_192
"""So many versions are looked at together."""

TOGETHER = 4
"""One entry leaves at most a deleted version and another memory's at one path; a few more do no harm."""


class Found(NamedTuple):
    """A version that was current: of a memory in the directory, or of one beneath a directory in it."""

    path: str
    version: str
    memory: str
    number: int
    seq: int
    size: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """A directory (then `found` is null) or a memory that was in the list."""

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
    """Up to SIZE names in the order of paths. `next` is where the following page begins (null: this is the end).

    `is_cut`: the page is not full, only the work of one page was.
    """

    items: list[Item]
    next: str | None
    is_cut: bool

    @property
    def directories_first(self) -> list[Item]:
        return sorted(self.items, key=lambda item: (not item.is_directory, item.name))


def listing(store_id: str, directory: str, seq: int, after: str = "") -> Listing:
    """A page of what lay in a directory after the entry `seq`; `after` is the `next` of the page before."""
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
    """Where the next page begins, and whether this one ended for its work."""
    if len(names) > SIZE:
        return names[SIZE].place, False
    if names and names[-1].step >= MOST_STEPS:
        last = _whole(names[-1], low)
        place = paths.subtree(last)[1] if last != names[-1].place else last + " "
        return (place, True) if place < high else (None, False)
    return None, False


def _whole(name: Name, low: str) -> str:
    """The path of a name: of a directory without what lies beneath."""
    return low + name.place[len(low) :].partition("/")[0]


def _item(name: Name, low: str, found: Mapping[str, Found]) -> Item:
    path = _whole(name, low)
    return Item(path[len(low) :], path, found.get(name.was or ""))


def _versions(store_id: str, ids: Collection[str | None]) -> dict[str, Found]:
    rows = MemoryVersion.objects.among(store_id, [id for id in ids if id]).only(*_FIELDS)
    return {version.pk: _found(version) for version in rows}


def _anything(store_id: str, low: str, high: str, seq: int, budget: int) -> tuple[bool | None, str, int]:
    """Whether any version between two paths was current, where the look ended, and what is left of the budget.

    Null where the budget did not suffice.
    """
    beneath = MemoryVersion.objects.filter(store_id=store_id, path__lt=high, seq__lte=seq)
    at = low
    while budget > 0:
        here = beneath.filter(path__gte=at)
        bound = here.order_by("path", "seq").values_list("path", flat=True)[SLICE : SLICE + 1].first()
        within = here if bound is None else here.filter(path__lt=bound)
        if bound == at:  # more versions at this one path than a slice has
            if alive_at(store_id, at, seq) is not None:
                return True, at, budget
            bound = at + " "  # no path has a character before the space: what follows comes after this one
        elif within.as_of(seq).exists():
            return True, at, budget
        if bound is None:
            return False, at, budget
        at, budget = bound, budget - SLICE
    return None, at, budget


def was_there(store_id: str, directory: str, seq: int) -> bool:
    """Whether anything lay in a directory; true too where finding out is too much work."""
    found = listing(store_id, directory, seq)
    return bool(found.items or found.next)


def alive_at(store_id: str, path: str, seq: int) -> MemoryVersion | None:
    """The version that was current at a path; the newest one there decides, whatever has become of its memory."""
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
