"""Pages of audit entries that match a search, across chains and without offsets.

The entries of a chain are ordered by seq; chains are merged by time. A place is a point between two entries, written as
`chain:seq` of the newer one. Clocks can run backwards, so the times of a chain may be out of order near a place. For
such a chain, the place also names the last seq that counts as older than the place.

A search that takes too long ends its page early; the next page continues at that point.
"""

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice

from django.db.models import F, OuterRef, Subquery

from memoryhub.actions.verification.entries import MOST, Search
from memoryhub.models import AuditChain, AuditEntry
from memoryhub.models.audit import LAST_SEQ
from memoryhub.web.common.paging import BadPlace

__all__ = ["Page", "Place", "Search", "all_entries", "heads", "newer_page", "older_page"]

PAGE = 50
CHUNK = 200
FURTHER = 20_000
"""The most entries scanned for a page when a person asks to search further."""

_LATEST = datetime.max.replace(tzinfo=UTC)
_PLACE = re.compile(r"\w{1,64}:\d{1,18}(?:,\w{1,64}:\d{1,18})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """The point between the entry (`chain`, `seq`) and the next older entry.

    `bounds` is {chain: last seq that counts as older}, for chains whose times are out of order there.
    """

    chain: str
    seq: int
    bounds: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, written: str, chains: Iterable[str]) -> "Place":
        """Parse a place from its text `written`. Raise BadPlace if the text is invalid."""
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
    """Entries, newest first."""

    entries: Sequence[AuditEntry]
    newer: str | None  # the place at which the page of newer entries begins, or None
    older: str | None  # the place at which the page of older entries begins, or None
    reached: AuditEntry | None = None  # the last scanned entry, if the search ended early


def older_page(
    search: Search, chains: Sequence[str], before: str | None = None, size: int = PAGE, most: int = MOST
) -> Page:
    """Return the newest entries, or those that are older than the place `before`. Raise BadPlace if the place is
    invalid.

    At most `most` entries of each chain are scanned.
    """
    place = Place.of(before, chains) if before else None
    streams = _Streams(search, _bounds(chains, place), size + 1, most, newest=True)
    found: list[AuditEntry] = []
    for chain, bound in sorted(streams.bounds.items(), key=lambda item: (item[1].latest, item[0]), reverse=True):
        if streams.is_beyond((bound.latest, chain), found):
            break
        streams.open(chain)
        found = streams.merged(found, streams.opened[chain])
    shown, older, reached = found[:size], None, None
    if len(found) > size:
        older = _place(shown[-1], chains, streams.gaps(shown))
    elif reached := streams.reached():
        older = _place(reached, chains, streams.gaps(shown))
    return Page(shown, str(place) if place else None, older, reached)


def newer_page(search: Search, chains: Sequence[str], after: str, size: int = PAGE, most: int = MOST) -> Page:
    """Return the entries that are newer than the place `after`. Raise BadPlace if the place is invalid.

    At most `most` entries of each chain are scanned.
    """
    place = Place.of(after, chains)
    streams = _Streams(search, _bounds(chains, place), size + 1, most, newest=False)
    for chain in chains:
        streams.open(chain)
    found = streams.merged(*streams.opened.values())
    shown, newer, reached = found[:size], None, None
    if len(found) > size:
        newer = _place(found[size], chains, streams.gaps(shown))
    elif reached := streams.reached():
        following = AuditEntry.objects.of_chain(reached.chain).filter(seq__gt=reached.seq).oldest()[0]
        newer = _place(following, chains, streams.gaps(shown))
    return Page(shown[::-1], newer, str(place), reached)


def all_entries(search: Search, bounds: Mapping[str, int]) -> Iterator[list[AuditEntry]]:
    """Yield all entries that match the search, in chunks, newest first. `bounds` has the last seq to include of each
    chain."""
    merged = heapq.merge(*(_walk(search, chain, seq) for chain, seq in bounds.items()), key=_key, reverse=True)
    while chunk := list(islice(merged, CHUNK)):
        yield chunk


def heads(chains: Sequence[str]) -> dict[str, int]:
    """Return {chain: its last seq}."""
    return dict(AuditChain.objects.filter(pk__in=chains).values_list("id", "last_seq"))


def _walk(search: Search, chain: str, bound: int) -> Iterator[AuditEntry]:
    size = 10  # most chains have few matches, so the first scan is short
    look = search.look(chain, 1, bound, size, most=FURTHER)
    while look.entries or look.reached:
        yield from look.entries
        bound, size = (look.reached or look.entries[-1].seq) - 1, CHUNK
        look = search.look(chain, 1, bound, size, most=FURTHER)


def _key(entry: AuditEntry) -> tuple[datetime, str]:
    return entry.at, entry.chain


@dataclass(frozen=True, slots=True)
class _Bound:
    """In one chain, exactly the entries up to `seq` count as older than a place.

    None of these entries is later than `latest`.
    """

    seq: int
    latest: datetime


_NOTHING = _Bound(0, datetime.min.replace(tzinfo=UTC))


def _bounds(chains: Sequence[str], place: Place | None) -> dict[str, _Bound]:
    """Return {chain: its last entry that is older than `place`}; without a place, the last entry of each chain."""
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
    """The matching entries of each chain on one side of a place, at most `limit` of each chain. With `newest`, these
    are the entries older than the place, newest first; otherwise the entries newer than the place, oldest first."""

    def __init__(self, search: Search, bounds: dict[str, _Bound], limit: int, most: int, *, newest: bool) -> None:
        self.search, self.bounds, self.limit, self.most, self.newest = search, bounds, limit, most, newest
        self.opened: dict[str, list[AuditEntry]] = {}
        self.ends: dict[str, AuditEntry] = {}

    def open(self, chain: str) -> None:
        bound = self.bounds[chain].seq
        low, high = (1, bound) if self.newest else (bound + 1, LAST_SEQ)
        look = self.search.look(chain, low, high, self.limit, newest=self.newest, most=self.most)
        self.opened[chain] = look.entries
        if look.reached is not None:
            self.ends[chain] = AuditEntry.objects.of_chain(chain).in_brief().get(seq=look.reached)

    def reached(self) -> AuditEntry | None:
        """Return the entry beyond which the results are incomplete, or None if every scan is complete."""
        if not self.ends:
            return None
        return max(self.ends.values(), key=_key) if self.newest else min(self.ends.values(), key=_key)

    def is_beyond(self, latest: tuple[datetime, str], found: Sequence[AuditEntry]) -> bool:
        """Return whether a chain cannot add an entry to the page.

        If the entries `found` fill the page, this is so if all entries of the chain are older than the last of `found`.
        If a scan ended early, it is also so if they are all older than the entry at which the scan ended. `latest` is
        (latest time in the chain, chain id).
        """
        reached = self.reached()
        is_full = len(found) == self.limit and latest < _key(found[-1])
        return is_full or (reached is not None and latest < _key(reached))

    def merged(self, *parts: Iterable[AuditEntry]) -> list[AuditEntry]:
        """Merge `parts` into one order, and return the first entries: at most `limit`, and none beyond `reached()`."""
        merged, reached = heapq.merge(*parts, key=_key, reverse=self.newest), self.reached()
        if reached is not None:
            known = _key(reached)
            merged = (entry for entry in merged if (_key(entry) >= known if self.newest else _key(entry) <= known))
        return list(islice(merged, self.limit))

    def gaps(self, shown: Iterable[AuditEntry]) -> dict[str, range]:
        """Return {chain: range of seqs} for the place right after the entries `shown`.

        Each seq in the range separates the chain's entries in `shown` from its further matching entries. So each can
        be the bound of the chain at this place.
        """
        counts = Counter(entry.chain for entry in shown)
        return {chain: self._gap(chain, bound.seq, counts[chain]) for chain, bound in self.bounds.items()}

    def _gap(self, chain: str, bound: int, count: int) -> range:
        if chain not in self.opened:
            return range(bound, bound + 1)
        seqs, end = [entry.seq for entry in self.opened[chain]], self.ends.get(chain)
        if self.newest:
            beyond = seqs[count] if count < len(seqs) else end.seq - 1 if end else 0
            return range(beyond, seqs[count - 1] if count else bound + 1)
        beyond = seqs[count] if count < len(seqs) else end.seq + 1 if end else LAST_SEQ
        return range(seqs[count - 1] if count else bound, beyond)


def _place(entry: AuditEntry, chains: Sequence[str], gaps: Mapping[str, range]) -> str:
    """Return the place between an entry and the next older entry."""
    place = Place(entry.chain, entry.seq)
    if len(chains) == 1:
        return str(place)
    found = _bounds(chains, place)
    return str(replace(place, bounds={c: gap.start for c, gap in gaps.items() if found[c].seq not in gap}))
