"""The paths of stores for the path finder, cached in each process.

For each store, the cache holds the paths as they were after one audit entry. Later changes of a path have a greater seq
than this entry, so for a keystroke only these changes are read.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memoryhub.models import HUB, AuditChain, Member, Memory, MemoryVersion, Redaction, User
from memoryhub.pure.protocol.paths import ROOT
from memoryhub.pure.text.path_index import Entry, Found, PathIndex, words_of

MOST_PATHS = 500_000
"""The most paths that are cached in total, for the most recently used stores. One store is always cached completely."""

MOST_CHANGES = 5_000
"""The most changes that are applied to the cache. After more changes, all paths are read again."""

FEW = 8
"""If there are fewer matches than this, paths that contain the letters of the words in order are added."""

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Paths:
    """A store's paths as of a moment, in several numbered indexes.

    Index 0 holds all paths at an earlier moment. `places` holds the memories that changed since: {memory: number of the
    index with its current path}. The number is -1 if the memory was deleted.
    """

    indexes: Mapping[int, PathIndex]
    places: Mapping[str, int]

    def find(self, query: str, limit: int) -> list[Entry]:
        """Return the entries that match the words of a query, best first."""
        found = self._find(query, limit)
        shorter = query.strip().removeprefix(f"{ROOT}/")
        return found if found or shorter == query.strip() else self._find(shorter, limit)

    def _find(self, query: str, limit: int) -> list[Entry]:
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
    """The ids of the memories of an index that have moved to another index or were deleted."""

    places: Mapping[str, int]
    number: int

    def __contains__(self, id: object) -> bool:
        return self.places.get(id, self.number) != self.number  # type: ignore[call-overload]


@dataclass(slots=True)
class _Store:
    """The cache of one store, used only under its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    seq: int = -1
    all: dict[str, str] = field(default_factory=dict)
    shown: Paths = field(default_factory=lambda: Paths({}, {}))
    next: int = 1

    def renew(self, store_id: str, seq: int) -> Paths:
        """Return the paths as they are after the entry `seq` or a later entry. If the cache is older, update it
        first."""
        if seq <= self.seq:
            return self.shown
        changed = _changed_since(store_id, self.seq) if self.seq >= 0 else None
        self.seq = -1  # if this is interrupted, all paths are read again
        if changed is None:
            # Changes during this query have a higher seq, so the next update applies them again.
            self.all = dict(Memory.objects.live().filter(store_id=store_id).values_list("id", "path"))
            self._begin()
        elif changed:
            self._apply(changed, _live(store_id, changed))
        self.seq = seq
        return self.shown

    def _begin(self) -> None:
        self.shown = Paths({0: PathIndex(Entry.of(id, path) for id, path in self.all.items())}, {})

    def _apply(self, ids: Iterable[str], live: Mapping[str, str]) -> None:
        """Update the paths of some memories. Memories that are not in `live` are removed."""
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
        """Add an index for the memories in `moved`, and update `places`. The newest indexes are merged into the new one
        if they are small."""
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
    """Return the seq of a store's last entry. Return None if the store does not exist, or if the person has no role in
    it."""
    if not user.is_superuser and not Member.objects.filter(user=user, store_id=store_id).values_list("role")[:1]:
        return None
    chains = AuditChain.objects.filter(pk=store_id, closed_at=None).exclude(pk=HUB)
    return next(iter(chains.values_list("last_seq", flat=True)), None)


def paths_of(store_id: str, seq: int) -> Paths:
    """Return the paths of a store's live memories, as they are after the entry `seq` or a later entry. The entry `seq`
    must exist."""
    with _stores_lock:
        kept = _stores.setdefault(store_id, _Store())
        _stores.move_to_end(store_id)
    with kept.lock:
        before, paths = kept.seq, kept.renew(store_id, seq)
    if before != kept.seq:
        _forget()
    return paths


def _forget() -> None:
    """Drop the least recently used stores while the cache holds more than MOST_PATHS paths."""
    with _stores_lock:
        total = sum(len(kept.all) for kept in _stores.values())
        while total > MOST_PATHS and len(_stores) > 1:
            total -= len(_stores.popitem(last=False)[1].all)


def _changed_since(store_id: str, seq: int) -> set[str] | None:
    """Return the ids of the memories that changed after the entry `seq`. Return None if there were more than
    MOST_CHANGES changes, or if changes may have been removed together with their entries."""
    versions = MemoryVersion.objects.filter(store_id=store_id, seq__gt=seq).order_by("seq")
    removed = Redaction.objects.of_chain(store_id).removed().filter(seq__gt=seq).order_by("seq")
    found: list[str | None] = list(versions.values_list("memory_id", flat=True)[: MOST_CHANGES + 1])
    found += list(removed.values_list("memory", flat=True)[: MOST_CHANGES + 1])
    # versions that were removed together with their entries leave no trace
    begins_later = AuditChain.objects.filter(pk=store_id, start_seq__gt=seq).exists()
    return None if begins_later or len(found) > MOST_CHANGES else set(filter(None, found))


def _live(store_id: str, ids: Iterable[str]) -> dict[str, str]:
    """Return {memory id: path} of the given memories that are live."""
    asked, live = sorted(ids), dict[str, str]()
    for start in range(0, len(asked), _CHUNK):
        some = Memory.objects.live().among(store_id, asked[start : start + _CHUNK])
        live |= dict(some.values_list("id", "path"))
    return live


def forget_all() -> None:
    """Empty the cache; needed in a process whose database was replaced."""
    with _stores_lock:
        _stores.clear()
