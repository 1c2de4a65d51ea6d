"""What somebody looks for in the audit, and the page of entries that answers it.

Within a chain entries stand in the order of seq; chains are merged by the time of the entries that come next. A page is
found by key alone: a place between entries is written as the entry that comes just after it, `chain:seq`, and in each
other chain everything before that entry's time is older. Clocks are not seqs: where a chain's times are out of order
there, the place names the chain with the seq up to which it is older.
"""

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice

from django.db.models import F, OuterRef, Subquery

from memoryhub.models import AuditChain, AuditEntry
from memoryhub.models.audit import LAST_SEQ, AuditEntryQuerySet

PAGE = 50
CHUNK = 200
_LATEST = datetime.max.replace(tzinfo=UTC)
_PLACE = re.compile(r"\w{1,64}:\d{1,18}(?:,\w{1,64}:\d{1,18})*", re.ASCII)


class BadPlace(ValueError):
    """The place is not one that a page has given, or not one of the chains that are looked at."""


@dataclass(frozen=True, slots=True)
class Search:
    """What the entries must be; null is anything. `path` with a final slash is everything beneath it."""

    author: str | None = None
    session: str | None = None
    command: str | None = None
    path: str | None = None
    door: str | None = None
    ok: bool | None = None
    start: datetime | None = None
    end: datetime | None = None

    def first(self, chain: str, low: int, high: int, limit: int, *, newest: bool = True) -> list[AuditEntry]:
        """The newest (or oldest) entries of one chain that match, between two seqs, each filter by its own index."""
        chain_entries = AuditEntry.objects.of_chain(chain).in_brief()
        if self.start is not None or self.end is not None:
            first, last = chain_entries.seqs_near(self.start, self.end)
            low, high = max(low, first), min(high, last)
        if low > high:
            return []
        found = self._matching(chain_entries)
        if self.path is not None and self.path.endswith("/") and self._nothing_narrower():
            found = chain_entries.of_seqs(found.seqs_by_path(low, high, newest=newest, limit=limit))
        else:
            found = found.between(low, high)
        return list((found.newest() if newest else found.oldest())[:limit])

    def _nothing_narrower(self) -> bool:
        return self.author is None and self.session is None and self.command is None and self.ok is not False

    def _matching(self, found: AuditEntryQuerySet) -> AuditEntryQuerySet:
        if self.author is not None:
            found = found.by_author(self.author)
        if self.session is not None:
            found = found.of_session(self.session)
        if self.command is not None:
            found = found.of_command(self.command)
        if self.path is not None:
            found = found.beneath(self.path[:-1]) if self.path.endswith("/") else found.at_path(self.path)
        if self.door is not None:
            found = found.through(self.door)
        if self.ok is not None:
            found = found.that_ended(self.ok)
        return found.within(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Place:
    """Between two entries: just before the entry (chain, seq); `bounds` are the chains whose times are out of order."""

    chain: str
    seq: int
    bounds: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, written: str, chains: Iterable[str]) -> "Place":
        """Raises BadPlace."""
        if not _PLACE.fullmatch(written):
            raise BadPlace(written)
        pairs = [part.split(":") for part in written.split(",")]
        if not {chain for chain, _ in pairs} <= set(chains):
            raise BadPlace(written)
        return cls(pairs[0][0], int(pairs[0][1]), {chain: int(seq) for chain, seq in pairs[1:]})

    def __str__(self) -> str:
        return ",".join(f"{chain}:{seq}" for chain, seq in [(self.chain, self.seq), *self.bounds.items()])


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first, and the places from which the pages before and after go on (null: there is none)."""

    entries: Sequence[AuditEntry]
    newer: str | None
    older: str | None


def older_page(search: Search, chains: Sequence[str], before: str | None = None, size: int = PAGE) -> Page:
    """The newest entries, or those that come before a place; raises BadPlace."""
    place = Place.of(before, chains) if before else None
    streams = _Streams(search, _bounds(chains, place), size + 1, newest=True)
    found: list[AuditEntry] = []
    for chain, bound in sorted(streams.bounds.items(), key=lambda item: (item[1].latest, item[0]), reverse=True):
        if len(found) > size and (bound.latest, chain) < _key(found[size]):
            break
        streams.open(chain)
        found = streams.merged()
    shown, older = found[:size], None
    if len(found) > size:
        older = _place(shown[-1], chains, streams.gaps(shown))
    return Page(shown, newer=str(place) if place else None, older=older)


def newer_page(search: Search, chains: Sequence[str], after: str, size: int = PAGE) -> Page:
    """The entries that follow a place; raises BadPlace."""
    place = Place.of(after, chains)
    streams = _Streams(search, _bounds(chains, place), size + 1, newest=False)
    for chain in chains:
        streams.open(chain)
    found = streams.merged()
    shown, newer = found[:size], None
    if len(found) > size:
        newer = _place(found[size], chains, streams.gaps(shown))
    return Page(shown[::-1], newer=newer, older=str(place))


def all_entries(search: Search, bounds: Mapping[str, int]) -> Iterator[list[AuditEntry]]:
    """Every entry up to the given seq of each chain, in the order of the pages, in chunks."""
    merged = heapq.merge(*(_walk(search, chain, seq) for chain, seq in bounds.items()), key=_key, reverse=True)
    while chunk := list(islice(merged, CHUNK)):
        yield chunk


def heads(chains: Sequence[str]) -> dict[str, int]:
    """The last seq of each chain."""
    return dict(AuditChain.objects.filter(pk__in=chains).values_list("id", "last_seq"))


def _walk(search: Search, chain: str, bound: int) -> Iterator[AuditEntry]:
    size = 10  # of many chains most have little: the first look is short
    while rows := search.first(chain, 1, bound, size):
        yield from rows
        bound, size = rows[-1].seq - 1, CHUNK


def _key(entry: AuditEntry) -> tuple[datetime, str]:
    return entry.at, entry.chain


@dataclass(frozen=True, slots=True)
class _Bound:
    """The seq up to which a chain is older than a place, and the latest time that such an entry may have."""

    seq: int
    latest: datetime


_NOTHING = _Bound(0, datetime.min.replace(tzinfo=UTC))


def _bounds(chains: Sequence[str], place: Place | None) -> dict[str, _Bound]:
    """For each chain where the older side of a place begins; without a place everything is on it."""
    entries = AuditEntry.objects.filter(chain=OuterRef("pk")).order_by("-at", "-seq")
    if place is not None:
        anchor = AuditEntry.objects.of_chain(place.chain).filter(seq=place.seq).values_list("at", flat=True).first()
        if anchor is None:
            raise BadPlace(str(place))
        entries = entries.filter(at__lte=anchor).exclude(at=anchor, chain__gte=place.chain)
    found = AuditChain.objects.filter(pk__in=chains).annotate(
        bound=Subquery(entries.values("seq")[:1]) if place else F("last_seq"), latest=Subquery(entries.values("at")[:1])
    )
    rows = found.values_list("pk", "bound", "latest")
    bounds = dict.fromkeys(chains, _NOTHING) | {chain: _Bound(seq, at) for chain, seq, at in rows if at is not None}
    if place is not None:
        named = {**place.bounds, place.chain: place.seq - 1}
        bounds |= {chain: _Bound(seq, _LATEST) for chain, seq in named.items()}
    return bounds


class _Streams:
    """The entries of each chain on one side of a place, at most `limit` of each, in the order of their seqs."""

    def __init__(self, search: Search, bounds: dict[str, _Bound], limit: int, *, newest: bool) -> None:
        self.search, self.bounds, self.limit, self.newest = search, bounds, limit, newest
        self.opened: dict[str, list[AuditEntry]] = {}

    def open(self, chain: str) -> None:
        bound = self.bounds[chain].seq
        low, high = (1, bound) if self.newest else (bound + 1, LAST_SEQ)
        self.opened[chain] = self.search.first(chain, low, high, self.limit, newest=self.newest)

    def merged(self) -> list[AuditEntry]:
        """The first ones of all opened chains together."""
        return list(islice(heapq.merge(*self.opened.values(), key=_key, reverse=self.newest), self.limit))

    def gaps(self, shown: Iterable[AuditEntry]) -> dict[str, range]:
        """For each chain the seqs that may bound it when these entries have been shown and no others."""
        counts = Counter(entry.chain for entry in shown)
        return {chain: self._gap(chain, bound.seq, counts[chain]) for chain, bound in self.bounds.items()}

    def _gap(self, chain: str, bound: int, count: int) -> range:
        if chain not in self.opened:
            return range(bound, bound + 1)
        seqs = [entry.seq for entry in self.opened[chain]]
        if self.newest:
            return range(seqs[count] if count < len(seqs) else 0, seqs[count - 1] if count else bound + 1)
        return range(seqs[count - 1] if count else bound, seqs[count] if count < len(seqs) else LAST_SEQ)


def _place(entry: AuditEntry, chains: Sequence[str], gaps: Mapping[str, range]) -> str:
    """Just before an entry, with the chains that its time would not cut where they have to be cut."""
    place = Place(entry.chain, entry.seq)
    found = _bounds(chains, place)
    return str(replace(place, bounds={c: gap.start for c, gap in gaps.items() if found[c].seq not in gap}))
