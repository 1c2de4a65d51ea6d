"""Pages of the versions that await review, from several stores. A page scans a limited number of versions.

The versions of one store are in the order of their entries. The versions of several stores are merged by time. The
place where a page begins is written as versions: for each store, the last version that earlier pages have passed.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone

from memoryhub.models import Assignment, AuditEntry, Memory, MemoryStore, MemoryVersion, ReviewState
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure import ids
from memoryhub.pure.text.filter_words import MINE
from memoryhub.web.audit.filters import is_at, is_excluded
from memoryhub.web.common.filters import has_words
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.review.filters import Wanted

PAGE = 20
CHUNK = 100
WALK = 800
"""The most versions that are scanned for one page if the filter has to check each version."""

FEW = 5_000
"""If a path and everything under it have at most this many versions, the index of paths finds them all in one query."""

RARE = 1_000
"""If an author has at most this many entries, only the versions that these entries made are scanned."""

_PLACE = re.compile(r"\w{26}:\d{1,18}:\w{0,26}(?:,\w{26}:\d{1,18}:\w{0,26})*", re.ASCII)
_AFTER_ALL = "~"
"""A value that sorts after every id."""


class Place(NamedTuple):
    """The last version that was passed in a store: the seq of its entry, and its id."""

    seq: int
    id: str


class Row(NamedTuple):
    """The columns of a version that filtering and ordering need. For a proposal, `seq` is its number.

    The path of a redacted version is that of its memory now, as the page shows it.
    """

    store: str
    seq: int
    id: str
    memory: str
    path: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """A page of versions in order. Other rows, such as proposals, can be among the versions."""

    rows: Sequence[Row]
    next: str | None  # where the next page begins, or None at the end
    stopped: bool  # the page ended at the limit of scanned versions


class Beside(Protocol):
    """Rows that a page shows among its versions, such as proposals. They are in the same order as the versions."""

    def first(self) -> Row | None:
        """Return the next row without taking it, or None at the end or at the limit of scanned rows."""

    def take(self) -> Row:
        """Return the next row and remove it."""

    @property
    def has_more(self) -> bool: ...

    @property
    def stopped(self) -> bool: ...


def page(
    wanted: Wanted,
    place: str = "",
    *,
    newest: bool = False,
    size: int = PAGE,
    walk: int = WALK,
    beside: Beside | None = None,
) -> Page:
    """Return the versions after `place` ("": from the beginning), merged with the rows of `beside`. Raise BadPlace if
    `place` is invalid.

    With `newest`, the newest version is first. The `next` of the page is a place among the versions, not among the rows
    of `beside`. It is "" if no version was passed yet.
    """
    merged = _Merged(wanted, _places(place, wanted.stores), newest, walk)
    rows: list[Row] = []
    while len(rows) < size:
        stream, other = merged.first(), beside.first() if beside else None
        version = stream.rows[0] if stream else None
        if beside and other and not merged.stopped and (version is None or merged.comes_before(other, version)):
            rows.append(beside.take())
        elif stream:
            rows.append(stream.take())
        else:
            break
    has_more = merged.has_more or (beside is not None and beside.has_more)
    stopped = merged.stopped or (beside is not None and beside.stopped)
    return Page(rows, merged.place() if has_more else None, stopped)


def _places(written: str, stores: Iterable[str]) -> dict[str, Place]:
    if not written:
        return {}
    if not _PLACE.fullmatch(written):
        raise BadPlace(written)
    parts = [part.split(":") for part in written.split(",")]
    known, found = set(stores), {ids.MEMORY_STORE + s: Place(int(seq), _full(id)) for s, seq, id in parts}
    return {store: place for store, place in found.items() if store in known}


def _full(id: str) -> str:
    return ids.MEMORY_VERSION + id if id else _AFTER_ALL


def _written(places: Mapping[str, Place]) -> str:
    short = {store.removeprefix(ids.MEMORY_STORE): place for store, place in places.items()}
    return ",".join(f"{store}:{place.seq}:{_short(place.id)}" for store, place in short.items())


def _short(id: str) -> str:
    return "" if id == _AFTER_ALL else id.removeprefix(ids.MEMORY_VERSION)


class _Walk:
    """The number of versions that may still be scanned."""

    def __init__(self, left: int) -> None:
        self.left = left


class _Merged:
    """The merged streams of all stores. A stream is opened when its first version may be the next one."""

    def __init__(self, wanted: Wanted, places: dict[str, Place], newest: bool, walk: int) -> None:
        self.newest, self.walk, self.stopped = newest, _Walk(walk), False
        self.wanted, self.places = wanted, places
        self.streams: list[_Stream] = []
        begins = _begins(wanted, newest)
        for store in [store for store, _ in begins if store in places]:
            self._open(store)
        self.waiting = deque((store, at) for store, at in begins if store not in places)

    def _open(self, store: str) -> None:
        self.streams.append(_Stream(self.wanted, store, self.places.get(store), self.newest))

    def first(self) -> "_Stream | None":
        """Return the stream with the next version, or None at the end or at the limit of scanned versions.

        Versions that were already found are still returned after the limit, so that every page makes progress.
        """
        while True:
            filled = [stream.fill(self.walk) for stream in self.streams]
            self.stopped = not all(filled)
            ready = [stream for stream in self.streams if stream.rows]
            first = min(ready, key=lambda stream: self._key(stream.rows[0]), default=None)
            if not self.stopped and self.waiting and (first is None or self._comes_first(first.rows[0])):
                self._open(self.waiting.popleft()[0])
                continue
            return first

    def comes_before(self, one: Row, other: Row) -> bool:
        return self._key(one) < self._key(other)

    def _comes_first(self, row: Row) -> bool:
        """Return whether a version of the next unopened store may come before `row`."""
        at = self.waiting[0][1]
        return at > row.at if self.newest else at < row.at

    def _key(self, row: Row) -> tuple[float, str]:
        return (-row.at.timestamp() if self.newest else row.at.timestamp()), row.store

    @property
    def has_more(self) -> bool:
        return bool(self.waiting) or any(stream.rows or not stream.is_done for stream in self.streams)

    def place(self) -> str:
        return _written({s.store: s.passed for s in self.streams if s.passed is not None})


def _begins(wanted: Wanted, newest: bool) -> list[tuple[str, datetime]]:
    """Return (store, time of its oldest unreviewed version), oldest first. With `newest`, return the time of the newest
    unreviewed version instead, newest first."""
    unreviewed = MemoryVersion.objects.filter(store_id=OuterRef("pk")).unreviewed()
    first = unreviewed.order_by("-seq" if newest else "seq").values("created_at")[:1]
    stores = MemoryStore.objects.filter(pk__in=wanted.stores)
    if wanted.session is not None:
        stores = stores.filter(pk__in=_stores_of_session(wanted))
    found = stores.annotate(since=Subquery(first)).values_list("pk", "since")
    begins = sorted((at, store) for store, at in found if at is not None)
    return [(store, at) for at, store in (reversed(begins) if newest else begins)]


def _stores_of_session(wanted: Wanted) -> list[str]:
    """Return the stores in which the session has an entry. Other stores need not be opened."""
    entry = AuditEntry.objects.filter(chain=OuterRef("pk"), session=wanted.session).values("seq")[:1]
    found = MemoryStore.objects.filter(pk__in=wanted.stores).annotate(one=Subquery(entry))
    return [store for store, seq in found.values_list("pk", "one") if seq is not None]


class _Stream:
    """The matching versions of one store, loaded in chunks.

    `passed` is the place of a version. All versions up to this one were taken or do not match, so the next page begins
    after it.
    """

    def __init__(self, wanted: Wanted, store: str, passed: Place | None, newest: bool) -> None:
        self.wanted, self.store, self.passed, self.newest = wanted, store, passed, newest
        self.rows: deque[Row] = deque()
        self.read = passed
        self.is_done = False
        self.low, self.high = AuditEntry.objects.of_chain(store).seqs_near(wanted.start, wanted.end)
        self.seqs = self._of_rare_author()
        self.by_path = self.seqs is None and self._has_few_at_path()

    def _of_rare_author(self) -> list[int] | None:
        """Return the seqs of the author's entries. Return None if there are more than RARE, or if the filter names no
        author.

        Return None also if the filter names a memory or a session, because another index then finds the versions.
        """
        if self.wanted.author is None or self.wanted.memory is not None or self.wanted.session is not None:
            return None
        entries = AuditEntry.objects.of_chain(self.store).by_author(self.wanted.author).between(self.low, self.high)
        seqs = list(entries.oldest().values_list("seq", flat=True)[: RARE + 1])
        return seqs if len(seqs) <= RARE else None

    def _has_few_at_path(self) -> bool:
        if self.wanted.path is None or self.wanted.memory is not None or self.wanted.session is not None:
            return False
        return self._near_path().order_by().values("pk")[: FEW + 1].count() <= FEW

    def _near_path(self) -> MemoryVersionQuerySet:
        """Return the versions in a range of paths that includes the filter's path and everything under it, and the
        unreviewed versions whose paths were redacted."""
        path = self.wanted.path or ""
        redacted = Q(path=None, review_state=ReviewState.UNREVIEWED)
        return MemoryVersion.objects.filter(Q(path__gte=path, path__lt=path + "0") | redacted, store_id=self.store)

    def take(self) -> Row:
        row = self.rows.popleft()
        self.passed = Place(row.seq, row.id) if self.rows else self.read
        return row

    def fill(self, walk: _Walk) -> bool:
        """Read until a version matches or none is left. Return False at the limit of scanned versions."""
        while not self.rows and not self.is_done:
            if walk.left <= 0:
                return False
            size = min(CHUNK, walk.left) if self.wanted.looks_at_rows or self.wanted.session else PAGE + 1
            size = FEW + 1 if self.by_path else size
            rows, looked = self._of_session(size) if self.wanted.session else self._chunk(self._from_here(), size)
            walk.left -= 0 if self.by_path else looked
            self.is_done = looked < size
            found = matching(self.wanted, self.store, rows)
            self.rows.extend(found)
            before = rows[rows.index(found[0]) - 1] if found and found[0] != rows[0] else None
            if not found:
                self.passed = self.read
            elif before:
                self.passed = Place(before.seq, before.id)
        return True

    def _from_here(self) -> MemoryVersionQuerySet:
        """Return the versions after the last version that was read."""
        found = MemoryVersion.objects.filter(store_id=self.store).unreviewed()
        if MINE in self.wanted.marks.has:  # there are few, so no other version needs to be read
            theirs = Assignment.objects.filter(store_id=self.store, to_id=self.wanted.marks.user, ended_by=None)
            found = found.filter(memory_id__in=theirs.values("memory_id"))
        if self.seqs is not None:
            return self._beyond(found.filter(seq__in=self.seqs), "seq")
        if self.wanted.memory is None and not self.by_path:
            return self._beyond(found.filter(seq__gte=self.low, seq__lte=self.high), "seq")
        near = self._near_path().unreviewed() if self.by_path else found.filter(memory_id=self.wanted.memory)
        # `seq + 0` keeps the database from using the index of seq
        of_memory = near.alias(place=F("seq") + 0)
        return self._beyond(of_memory.filter(place__gte=self.low, place__lte=self.high), "place")

    def _beyond(self, found: MemoryVersionQuerySet, place: str) -> MemoryVersionQuerySet:
        """Return the versions in `found` after the last one that was read; `place` names the column of the seq."""
        if self.read is None:
            return found
        seq, id = self.read
        if self.newest:
            return found.filter(**{f"{place}__lte": seq}).exclude(
                **{place: seq}, pk__gte="" if id == _AFTER_ALL else id
            )
        return found.filter(**{f"{place}__gte": seq}).exclude(**{place: seq}, pk__lte=id)

    def _chunk(self, found: MemoryVersionQuerySet, size: int) -> tuple[list[Row], int]:
        order = ["number"] if self.wanted.memory is not None else ["place" if self.by_path else "seq", "pk"]
        found = found.order_by(*(f"-{name}" if self.newest else name for name in order))[:size]
        rows = rows_of(self.store, found)
        if rows:
            self.read = Place(rows[-1].seq, rows[-1].id)
        return rows, len(rows)

    def _of_session(self, size: int) -> tuple[list[Row], int]:
        """Return the versions of the session's next entries (at most `size`), and the number of these entries."""
        # entries first, because a scan of all versions that await review could take long
        entries = AuditEntry.objects.of_chain(self.store).of_session(str(self.wanted.session))
        entries = entries.between(self.low, self.high)
        if self.read is not None:
            entries = entries.filter(seq__lt=self.read.seq) if self.newest else entries.filter(seq__gt=self.read.seq)
        entries = entries.newest() if self.newest else entries.oldest()
        seqs = list(entries.values_list("seq", flat=True)[:size])
        rest = self._rest_of_entry()
        rows = rest + (self._chunk(self._from_here().filter(seq__in=seqs), len(seqs) * 10_000)[0] if seqs else [])
        if seqs:
            self.read = Place(seqs[-1], _AFTER_ALL)
        return rows, len(seqs)

    def _rest_of_entry(self) -> list[Row]:
        """Return the remaining versions of the entry in which the previous page ended."""
        if self.read is None or self.read.id == _AFTER_ALL:
            return []
        return self._chunk(self._from_here().filter(seq=self.read.seq), 10_000)[0]


def rows_of(store: str, versions: MemoryVersionQuerySet) -> list[Row]:
    """Return the rows of `versions`, which are all of one store."""
    columns = ("store_id", "seq", "pk", "memory_id", "path", "created_at")
    rows = [Row(*row) for row in versions.values_list(*columns)]
    redacted = {row.memory for row in rows if row.path is None}
    now = dict(Memory.objects.among(store, redacted).values_list("pk", "path")) if redacted else {}
    return [row if row.path is not None else row._replace(path=now.get(row.memory)) for row in rows]


def matching(wanted: Wanted, store: str, rows: list[Row]) -> list[Row]:
    """Return those of `rows` that match the filter. All `rows` are versions of `store`.

    The filter's memory and session are not checked.
    """
    rows = [row for row in rows if _is_wanted(wanted, row)]
    authors: dict[int, list[str | None]] = {}
    if wanted.needs_entries and rows:
        entries = AuditEntry.objects.of_chain(store).of_seqs({row.seq for row in rows})
        authors = {seq: by for seq, *by in entries.values_list("seq", "author_id", "session")}
    rows = [row for row in rows if _is_by(wanted, row, *authors.get(row.seq, (None, None)))]
    if not wanted.marks.is_empty and rows:
        marked = wanted.marks.matching(store, {row.memory for row in rows}, timezone.now())
        rows = [row for row in rows if row.memory in marked]
    return rows


def _is_wanted(wanted: Wanted, row: Row) -> bool:
    if row.id in wanted.without or row.memory in wanted.other_memories:
        return False
    if wanted.path is not None and not is_at(row.path, wanted.path):
        return False
    if not has_words(row.path, wanted.words):
        return False
    return (wanted.start is None or row.at >= wanted.start) and (wanted.end is None or row.at < wanted.end)


def _is_by(wanted: Wanted, row: Row, author: str | None, session: str | None) -> bool:
    if wanted.author is not None and author != wanted.author:
        return False
    return not is_excluded(wanted.excluded, row.at, row.path, author, session)
