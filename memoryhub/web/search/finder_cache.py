"""The paths of stores as this process keeps them for the finder, brought up to date by what was written since.

Whatever moves, makes or deletes a memory leaves a version with the entry's seq. So what is kept is right as of a seq,
in each process for itself, and a look at the versions after it is all that a keystroke needs.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memoryhub.models import HUB, AuditChain, Member, Memory, MemoryVersion, User
from memoryhub.text.path_index import Entry, Found, PathIndex, words_of

MOST_PATHS = 500_000
"""So many paths are kept, of the stores that were asked for last; those of one store always."""

MOST_CHANGES = 5_000
"""When more has been written since, the paths are read again."""

FEW = 8
"""Where fewer have the words, paths that have their letters in order are shown as well."""

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Paths:
    """A store's paths as of a moment: indexes by number, and in which of them a memory stands that has changed since.

    A memory that `places` does not name stands in the first index; one whose number is no index's has been deleted.
    """

    indexes: Mapping[int, PathIndex]
    places: Mapping[str, int]

    def find(self, query: str, limit: int) -> list[Entry]:
        """The entries that have the words of a query, the best first; the shortest for a slash."""
        words = words_of(query)
        if not query.strip():
            return []
        found: list[Found] = []
        for number, index in self.indexes.items():
            found += index.find(words, limit, _Gone(self.places, number))
        entries = [entry for *_, entry in sorted(found)[:limit]]
        return (
            entries
            if len(entries) >= min(FEW, limit) or not words
            else entries + self._by_letters(words, entries, limit)
        )

    def _by_letters(self, words: Sequence[str], entries: Sequence[Entry], limit: int) -> list[Entry]:
        known = {entry.id for entry in entries}
        more: list[Entry] = []
        for number, index in self.indexes.items():
            more += index.find_letters("".join(words), limit, _Gone(self.places, number))
        more.sort(key=lambda entry: (len(entry.folded), entry.folded))
        return [entry for entry in more if entry.id not in known][: limit - len(entries)]


@dataclass(frozen=True, slots=True)
class _Gone:
    """The ids of memories that do not stand in an index any more."""

    places: Mapping[str, int]
    number: int

    def __contains__(self, id: object) -> bool:
        return self.places.get(id, self.number) != self.number  # type: ignore[call-overload]


@dataclass(slots=True)
class _Store:
    """What is kept of a store; only under its lock. `all` are the live paths by id, `next` the next index's number."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    seq: int = -1
    all: dict[str, str] = field(default_factory=dict)
    shown: Paths = field(default_factory=lambda: Paths({}, {}))
    next: int = 1

    def renew(self, store_id: str, seq: int) -> Paths:
        """The paths as they are after an entry, or later."""
        if seq <= self.seq:
            return self.shown
        changed = _changed_since(store_id, self.seq) if self.seq >= 0 else None
        if changed is None:
            # What is written while they are read comes after the entry, and is looked at again next time.
            self.all = dict(Memory.objects.live().filter(store_id=store_id).values_list("id", "path"))
            self._begin()
        elif changed:
            self._apply(changed, _live(store_id, changed))
        self.seq = seq
        return self.shown

    def _begin(self) -> None:
        self.shown = Paths({0: PathIndex(Entry.of(id, path) for id, path in self.all.items())}, {})

    def _apply(self, ids: Iterable[str], live: Mapping[str, str]) -> None:
        """Takes over where some memories are; those that are not live are nowhere."""
        moved = {id: path for id, path in live.items() if self.all.get(id) != path}
        gone = [id for id in ids if id not in live and id in self.all]
        if not moved and not gone:
            return
        self.all |= moved
        for id in gone:
            del self.all[id]
        places = {**self.shown.places, **dict.fromkeys(gone, -1), **dict.fromkeys(moved, self.next)}
        if len(places) > max(1000, len(self.all) // 8):
            self._begin()
        else:
            self._add(places, moved)

    def _add(self, places: dict[str, int], moved: dict[str, str]) -> None:
        """A further index, which takes in those before it that are not much larger, so that there are never many."""
        indexes = dict(self.shown.indexes)
        while len(indexes) > 1 and len(indexes[last := max(indexes)]) <= 2 * len(moved):
            old = indexes.pop(last)
            kept = {entry.id: entry.path for entry in old.entries if places.get(entry.id) == last}
            places |= dict.fromkeys(kept, self.next)
            moved = kept | moved
        indexes[self.next] = PathIndex(Entry.of(id, path) for id, path in moved.items())
        self.next += 1
        self.shown = Paths(indexes, places)


_stores: OrderedDict[str, _Store] = OrderedDict()
_stores_lock = threading.Lock()


def last_seq(user: User, store_id: str) -> int | None:
    """The seq of a store's last entry; null where there is no such store in which the person has a role."""
    if not user.is_superuser and not Member.objects.filter(user=user, store_id=store_id).values_list("role")[:1]:
        return None
    chains = AuditChain.objects.filter(pk=store_id, closed_at=None).exclude(pk=HUB)
    return next(iter(chains.values_list("last_seq", flat=True)), None)


def paths_of(store_id: str, seq: int) -> Paths:
    """The live paths of a store as they are after an entry that has been written, or later."""
    with _stores_lock:
        kept = _stores.setdefault(store_id, _Store())
        _stores.move_to_end(store_id)
    with kept.lock:
        before, paths = kept.seq, kept.renew(store_id, seq)
    if before != kept.seq:
        _forget()
    return paths


def _forget() -> None:
    """Lets go of the stores that were asked for the longest ago, as long as there are too many paths."""
    with _stores_lock:
        total = sum(len(kept.all) for kept in _stores.values())
        while total > MOST_PATHS and len(_stores) > 1:
            total -= len(_stores.popitem(last=False)[1].all)


def _changed_since(store_id: str, seq: int) -> set[str] | None:
    """The memories that have versions after a seq; null where these are too many."""
    versions = MemoryVersion.objects.filter(store_id=store_id, seq__gt=seq).order_by("seq")
    found = list(versions.values_list("memory_id", flat=True)[: MOST_CHANGES + 1])
    return None if len(found) > MOST_CHANGES else set(found)


def _live(store_id: str, ids: Iterable[str]) -> dict[str, str]:
    """Where those of some memories are that are live."""
    asked, live = sorted(ids), dict[str, str]()
    for start in range(0, len(asked), _CHUNK):
        some = Memory.objects.live().among(store_id, asked[start : start + _CHUNK])
        live |= dict(some.values_list("id", "path"))
    return live


def forget_all() -> None:
    """Lets go of everything, for a process whose database has become another one."""
    with _stores_lock:
        _stores.clear()
