"""What differs in a store between two entries: each memory once, with its state at the first and at the last.

Of the versions between the two, those that were still the newest of their memory at the last entry stand for their
memories: there is exactly one of each, whether it changed once or a thousand times, and it *is* the state at the end.
So the versions are walked from the newest back, by the index (store, seq), a stretch of them at a time, and nothing is
kept in mind about those that came before: a page costs the same whether a thousand or a million versions lie between.
The state at the beginning is found for a page at once, by halving (`past.versions_at`). Memories that are the
same at both ends are passed over. A page ends when it is full or when MOST_ROWS versions have been looked at, and the
next one goes on from there: nothing is left out, and nothing is counted that was not looked at.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q

from memoryhub.models import MemoryVersion, Operation
from memoryhub.protocol import paths
from memoryhub.web.history import past

SIZE = 100
FEW, MANY = 250, 4_000
"""So many versions the first stretch has, and the longest one."""

MOST_ROWS = 40_000
MOST_SEEN = 2_000
"""So many memories are compared for one page, whichever kind it shows."""


Place = tuple[int, str]


class Kind(StrEnum):
    """What became of a memory."""

    ADDED = "added"
    CHANGED = "changed"
    RENAMED = "renamed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Difference:
    """A memory at both moments; `before` or `after` is null where it was not there (also: in the trash).

    `removed`: what it was before is not known, since that version has been removed.
    """

    memory: str
    before: MemoryVersion | None
    after: MemoryVersion | None
    last: MemoryVersion
    removed: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Both where it was renamed and changed; nothing where no reader could tell a difference."""
        if self.removed:
            return (Kind.CHANGED,) if self.after else (Kind.DELETED,)
        if self.before is None or self.after is None:
            return (Kind.ADDED,) if self.after else (Kind.DELETED,) if self.before else ()
        renamed = (Kind.RENAMED,) if self.before.path != self.after.path else ()
        return (*renamed, Kind.CHANGED) if not _same_text(self.before, self.after) else renamed

    @property
    def path(self) -> str:
        """Where it is at the end, else where it was."""
        shown = self.after or self.before
        return (shown.path if shown else None) or ""

    @property
    def moved_from(self) -> str | None:
        return self.before.path if self.before and Kind.RENAMED in self.kinds else None


@dataclass(frozen=True, slots=True)
class Page:
    """Some differences by path; `next` is the place (a seq and an id) before which the next page goes on.

    `counts` says how many of each kind this page has found, all kinds, whichever are shown; `is_cut`: it is not full.
    """

    rows: Sequence[Difference]
    counts: dict[Kind, int]
    next: str | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Between which entries, where (`path`, the root's is everything) and which kind (null: all)."""

    store: str
    first: int
    last: int
    path: str = ""
    kind: Kind | None = None


def page(wanted: Wanted, before: str = "") -> Page:
    """The differences that follow a place, at most SIZE of them."""
    place = _place(before)
    rows: list[Difference] = []
    counts: Counter[Kind] = Counter()
    looked, look, seen = 0, FEW, 0
    while looked < MOST_ROWS and seen < MOST_SEEN:
        found, end = _stretch(wanted, place, look)
        for difference in _differences(wanted, found):
            if len(rows) == SIZE:
                return Page(_by_path(rows), dict(counts), _cursor(rows[-1].last), False)
            counts.update(difference.kinds)
            if wanted.kind is None or wanted.kind in difference.kinds:
                rows.append(difference)
        if end is None:
            return Page(_by_path(rows), dict(counts), None, False)
        looked, seen, place = looked + look, seen + len(found), end
        look = min(4 * look, MANY) if len(found) < SIZE else FEW
    return Page(_by_path(rows), dict(counts), f"{place[0]}-{place[1]}" if place else None, True)


def _stretch(wanted: Wanted, place: Place | None, look: int) -> tuple[list[MemoryVersion], Place | None]:
    """Of the next versions those that are their memory's state at the end, and where to go on (null: that was all).

    Every range has one lower and one upper end: SQLite seeks by one of several and filters by the others.
    """
    high = wanted.last if place is None else min(wanted.last, place[0])
    between = MemoryVersion.objects.filter(store_id=wanted.store, seq__lte=high).order_by("-seq", "-pk")
    if place is not None:
        between = between.exclude(seq=place[0], pk__gte=place[1])
    ends = between.filter(seq__gt=wanted.first).values_list("seq", "pk")
    end = ends[look - 1 : look].first()
    last = between.filter(Q(superseded_seq=None) | Q(superseded_seq__gt=wanted.last))
    if end is None:
        return list(last.filter(seq__gt=wanted.first)), None
    return list(last.filter(seq__gte=end[0]).exclude(seq=end[0], pk__lt=end[1])), end


def _differences(wanted: Wanted, found: Sequence[MemoryVersion]) -> Iterable[Difference]:
    """A memory's with its state at the beginning; a page's worth is asked for at a time."""
    for start in range(0, len(found), SIZE):
        part = found[start : start + SIZE]
        numbers = {version.memory_id: version.number - 1 for version in part}
        before = past.versions_at(wanted.store, numbers, wanted.first)
        unknown = {version.memory_id for version in part if version.number > 1} - before.keys()
        gone = past.were_there(wanted.store, unknown, wanted.first)
        for version in part:
            memory = version.memory_id
            difference = Difference(memory, _there(before.get(memory)), _there(version), version, memory in gone)
            if difference.kinds and _is_within(wanted.path, difference):
                yield difference


def _is_within(path: str, difference: Difference) -> bool:
    if not path:
        return True
    low, high = paths.subtree(path)
    places = (version.path for version in (difference.before, difference.after) if version)
    return any(place is not None and low <= place < high for place in places)


def _there(version: MemoryVersion | None) -> MemoryVersion | None:
    return None if version is None or version.operation == Operation.DELETED else version


def _same_text(old: MemoryVersion, new: MemoryVersion) -> bool:
    return old.text_id == new.text_id if None in (old.sha256, new.sha256) else old.sha256 == new.sha256


def _by_path(rows: Sequence[Difference]) -> list[Difference]:
    return sorted(rows, key=lambda row: (row.path, row.memory))


def _cursor(version: MemoryVersion) -> str:
    return f"{version.seq}-{version.pk}"


def _place(written: str) -> Place | None:
    """A cursor as it came in an address; anything else is the beginning."""
    seq, _, version = written.partition("-")
    return (int(seq), version) if seq.isascii() and seq.isdigit() and len(seq) <= 18 and version else None
