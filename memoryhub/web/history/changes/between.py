"""Changes in a store between two entries: each memory once, with its state after the first and after the last entry.

The versions that were made after the first entry are scanned from the newest back. A page ends when it is full, or
after MOST_ROWS versions or MOST_SEEN memories; the next page continues there.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q

from memoryhub.models import AuditEntry, MemoryVersion, Operation
from memoryhub.pure.protocol import paths
from memoryhub.web.common.versions import moved_from
from memoryhub.web.history.moments import past

SIZE = 100
FEW, MANY = 250, 4_000
"""The number of versions in the first batch, and in the largest batch."""

MOST_ROWS = 40_000
MOST_SEEN = 2_000
"""The number of memories after which the scan for one page ends, whatever the page shows of them."""
LOOK_BACK = 500
"""The most versions of a memory, up to the final state, whose authors are checked."""


Place = tuple[int, str]


class Kind(StrEnum):
    """The kind of a memory's change."""

    ADDED = "added"
    CHANGED = "changed"
    RENAMED = "renamed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Difference:
    """A memory's state at both moments. A state is None if the memory did not exist at that moment or was in the
    trash."""

    memory: str
    before: MemoryVersion | None
    after: MemoryVersion | None
    last: MemoryVersion
    removed: bool = False  # the version of the first moment was removed, so `before` is None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of change. There are two if path and text both changed, and none if neither changed."""
        if self.removed:
            return (Kind.CHANGED,) if self.after else (Kind.DELETED,)
        if self.before is None or self.after is None:
            return (Kind.ADDED,) if self.after else (Kind.DELETED,) if self.before else ()
        renamed = (Kind.RENAMED,) if moved_from(self.before, self.after) else ()
        return (*renamed, Kind.CHANGED) if not _same_text(self.before, self.after) else renamed

    @property
    def path(self) -> str:
        """Return the path after the change, or the path before it if the memory was deleted."""
        shown = self.after or self.before
        return (shown.path if shown else None) or ""

    @property
    def moved_from(self) -> str | None:
        return self.before.path if self.before and Kind.RENAMED in self.kinds else None


@dataclass(frozen=True, slots=True)
class Page:
    """Changes sorted by path."""

    rows: Sequence[Difference]
    counts: dict[Kind, int]  # scanned changes of each kind
    next: str | None  # the place where the next page begins: seq and version id
    is_cut: bool  # the scan ended before the page was full


@dataclass(frozen=True, slots=True)
class Wanted:
    """The two entries, the directory (`path`), the kind of change (None: all), and the agent (empty: any author)."""

    store: str
    first: int
    last: int
    path: str = ""
    kind: Kind | None = None
    agent: str = ""


def page(wanted: Wanted, before: str = "") -> Page:
    """Return a page of at most SIZE changes, found by a scan from the newest version back.

    `before` is the `next` of the previous page, or "" for the first page.
    """
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
    """Scan the next `look` versions. Return those that were current right after the last entry, and the next place.

    The scan goes from new to old. It starts after `place`, or at the last entry if `place` is None. The next scan
    starts after the returned place, which is None if no versions are left to scan.
    """
    # one lower and one upper bound for each query: SQLite seeks by only one of several
    high = wanted.last if place is None else min(wanted.last, place[0])
    between = MemoryVersion.objects.filter(store_id=wanted.store, seq__lte=high).order_by("-seq", "-pk")
    if place is not None:
        between = between.exclude(seq=place[0], pk__gte=place[1])
    ends = between.filter(seq__gt=wanted.first).values_list("seq", "pk")
    end = ends[look - 1 : look].first()
    # each changed memory has exactly one version that is current after the last entry
    last = between.filter(Q(superseded_seq=None) | Q(superseded_seq__gt=wanted.last))
    if end is None:
        return list(last.filter(seq__gt=wanted.first)), None
    return list(last.filter(seq__gte=end[0]).exclude(seq=end[0], pk__lt=end[1])), end


def _differences(wanted: Wanted, found: Sequence[MemoryVersion]) -> Iterable[Difference]:
    """Yield the change of each memory in `found` that matches the agent and the directory in `wanted`.

    `found` has one version of each memory: the version that was current right after the last entry.
    """
    for start in range(0, len(found), SIZE):
        part = _by_agent(wanted, found[start : start + SIZE]) if wanted.agent else found[start : start + SIZE]
        numbers = {version.memory_id: version.number - 1 for version in part}
        before = past.versions_at(wanted.store, numbers, wanted.first)
        unknown = {version.memory_id for version in part if version.number > 1} - before.keys()
        gone = past.were_there(wanted.store, unknown, wanted.first)
        for version in part:
            memory = version.memory_id
            difference = Difference(memory, _there(before.get(memory)), _there(version), version, memory in gone)
            if difference.kinds and _is_within(wanted.path, difference):
                yield difference


def _by_agent(wanted: Wanted, found: Sequence[MemoryVersion]) -> list[MemoryVersion]:
    """Return the versions in `found` whose memory was changed by the agent in `wanted` after the first entry."""
    looked = (
        Q(memory_id=last.memory_id, number__gt=last.number - LOOK_BACK, number__lte=last.number) for last in found
    )
    own = AuditEntry.objects.filter(chain=OuterRef("store_id"), seq=OuterRef("seq")).by_author(wanted.agent)
    versions = MemoryVersion.objects.filter(Q(*looked, _connector=Q.OR), Exists(own), store_id=wanted.store)
    memories = set(versions.filter(seq__gt=wanted.first).values_list("memory_id", flat=True))
    return [last for last in found if last.memory_id in memories]


def _is_within(path: str, difference: Difference) -> bool:
    if not path:
        return True
    low, high = paths.subtree(path)
    places = (version.path for version in (difference.before, difference.after) if version)
    return any(place is not None and low <= place < high for place in places)


def _there(version: MemoryVersion | None) -> MemoryVersion | None:
    return None if version is None or version.operation == Operation.DELETED else version


def _same_text(old: MemoryVersion, new: MemoryVersion) -> bool:
    """Return whether two versions have the same text. No text is the same as a redacted one."""
    return None not in (old.text_id, new.text_id) and old.sha256 == new.sha256


def _by_path(rows: Sequence[Difference]) -> list[Difference]:
    return sorted(rows, key=lambda row: (row.path, row.memory))


def _cursor(version: MemoryVersion) -> str:
    return f"{version.seq}-{version.pk}"


def _place(written: str) -> Place | None:
    """Parse a cursor from a URL. Return None, which means the beginning, for any other text."""
    seq, _, version = written.partition("-")
    return (int(seq), version) if seq.isascii() and seq.isdigit() and len(seq) <= 18 and version else None
