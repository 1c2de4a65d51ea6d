"""A step of a search: it scans versions for a limited time and returns where to continue.

There is no full-text index: folded texts are compared, so that the search finds the same with SQLite and PostgreSQL.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from django.core import signing
from django.utils import timezone

from memoryhub.models import AuditEntry, MemoryText
from memoryhub.pure.text.folding import fold
from memoryhub.pure.text.word_endings import Forms, missing
from memoryhub.web.audit.filters import is_excluded
from memoryhub.web.audit.queries import Search
from memoryhub.web.common.filters.marks import NO_MARKS, MarkFilter
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.texts import masking
from memoryhub.web.search import candidates as search_rows
from memoryhub.web.search.candidates import LIVE, OLD, TRASH, Key, Row

MOST_MEMORIES = 30
MOST_VERSIONS = 90
FIRST_ROWS, MOST_ROWS = 25, 200
BATCH_BYTES, BATCH_ROWS = 256 * 1024, 100
_SALT = "memoryhub.search"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The criteria of a search: the forms of its words, where to search, and conditions on a version and its entry.

    In the stores of `masked`, masked values are not searched, so that a person cannot guess a value digit by digit.
    """

    words: Sequence[Forms]
    contents: bool = True
    paths: bool = True
    notes: bool = True
    path: str | None = None
    author: str | None = None
    session: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    old: bool = False
    trash: bool = False
    masked: frozenset[str] = frozenset()
    excluded: Sequence[Search] = ()
    marks: MarkFilter = NO_MARKS

    @property
    def kinds(self) -> list[str]:
        return [LIVE, *([OLD] if self.old else []), *([TRASH] if self.trash else [])]

    @property
    def needs_entries(self) -> bool:
        return self.is_by_author or (self.notes and bool(self.words))

    @property
    def is_by_author(self) -> bool:
        """Return whether a condition concerns the author or the session of a version."""
        return self.author is not None or self.session is not None or bool(self.excluded)

    def allows(self, row: Row) -> bool:
        """Return whether a version meets the conditions that can be checked without its text or its entry."""
        if not row.is_candidate or row.path is None:
            return False
        beneath = self.path is None or row.path == self.path or row.path.startswith(f"{self.path}/")
        return beneath and (self.start is None or row.at >= self.start) and (self.end is None or row.at < self.end)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search continues, and its progress."""

    store: str = ""
    kind: str = LIVE
    key: Key = ()
    looked: int = 0  # scanned memories
    old: int = 0  # scanned old versions
    total: int = 0  # live memories to scan
    found: int = 0  # memories with matches
    shown: int = 0  # memories with matches on this page
    versions: int = 0  # versions with matches on this page
    last: str = ""
    spent: float = 0.0  # seconds
    found_old: int = 0  # memories that match only in old versions
    seen: int = 0  # the words that occur anywhere, one bit for each word
    most: int = 0  # the most words that occur in one version, one bit for each word

    def __str__(self) -> str:
        values = [getattr(self, name) for name in self.__slots__]
        return signing.dumps(values, salt=_SALT, compress=True)

    @classmethod
    def of(cls, written: str) -> Place:
        """Parse a place from the signed text `written`. Raise BadPlace if the text is invalid."""
        try:
            values = signing.loads(written, salt=_SALT)
            place = cls(*values)
            place = replace(place, key=tuple(place.key))
        except (signing.BadSignature, ValueError, TypeError) as error:
            raise BadPlace(written) from error
        if place.kind not in search_rows.READ or not search_rows.is_key(place.kind, place.key):
            raise BadPlace(written)
        return place

    @property
    def found_now(self) -> int:
        return self.found - self.found_old

    @property
    def is_full(self) -> bool:
        """Return whether the page has MOST_MEMORIES memories or MOST_VERSIONS versions with matches."""
        return self.shown >= MOST_MEMORIES or self.versions >= MOST_VERSIONS

    def on_a_new_page(self) -> Place:
        return replace(self, shown=0, versions=0, last="")


class Note(NamedTuple):
    """The note of an entry. `of_deletion` says that the entry deleted the memory; else it made the version."""

    text: str
    of_deletion: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching version, its text (None: not loaded or redacted), and the notes of its entry and of its deletion."""

    row: Row
    text: str | None
    notes: Sequence[Note]


@dataclass(slots=True)
class Part:
    """The matches of one step, and where the search continues. `ended` means that the search is complete."""

    place: Place
    hits: list[Hit] = field(default_factory=list)
    ended: bool = False


def scan(wanted: Wanted, stores: Sequence[str], place: Place, seconds: float, most: int = MOST_VERSIONS) -> Part:
    """Scan stores in the order of their ids. Return the matches, and where the search continues.

    The scan ends after `seconds`, after `most` matches, or when the page is full.
    """
    clock = time.perf_counter
    began = clock()
    part = Part(place)
    for row, hit, words in _rows(wanted, stores, place):
        _count(part, row, hit, words)
        if part.place.is_full or len(part.hits) >= most or clock() - began >= seconds:
            break
    else:
        part.ended = True
    part.place = replace(part.place, spent=part.place.spent + clock() - began)
    return part


def _count(part: Part, row: Row, hit: Hit | None, words: int) -> None:
    place, memory = part.place, f"{row.kind}:{row.memory}"
    is_new = hit is not None and place.last != memory
    part.place = Place(
        row.store,
        row.kind,
        row.key,
        place.looked + (row.kind != OLD),
        place.old + (row.kind == OLD),
        place.total,
        place.found + is_new,
        place.shown + is_new,
        place.versions + (hit is not None),
        memory if hit else place.last,
        place.spent,
        place.found_old + (is_new and row.kind == OLD),
        place.seen | words,
        words if words.bit_count() > place.most.bit_count() else place.most,
    )
    if hit is not None:
        part.hits.append(hit)


def _rows(wanted: Wanted, stores: Sequence[str], place: Place) -> Iterator[tuple[Row, Hit | None, int]]:
    """Yield (row, its match or None, the words that occur in it) for every row after a place.

    The words are written as a number. Its bit n is 1 if the word at position n of the search occurs.
    """
    size = FIRST_ROWS if not place.looked else MOST_ROWS
    for store in sorted(stores):
        if store < place.store:
            continue
        for kind in wanted.kinds:
            key: Key = ()
            if store == place.store:
                if wanted.kinds.index(kind) < _index(wanted.kinds, place.kind):
                    continue
                key = place.key if kind == place.kind else ()
            while rows := search_rows.READ[kind](store, key, size, wanted.path):
                yield from _looked_at(wanted, store, rows)
                key = rows[-1].key
                if len(rows) < size:
                    break
                size = MOST_ROWS


def _index(kinds: Sequence[str], kind: str) -> int:
    """Return the position of `kind` in `kinds`. If `kinds` does not have it, return the position of the next kind in
    the order LIVE, OLD, TRASH; after the last kind, return the length of `kinds`."""
    order = (LIVE, OLD, TRASH)
    return next((at for at, one in enumerate(kinds) if order.index(one) >= order.index(kind)), len(kinds))


def _looked_at(wanted: Wanted, store: str, rows: Sequence[Row]) -> Iterator[tuple[Row, Hit | None, int]]:
    """Yield (row, its match or None, its words as bits) for the rows. Texts are loaded in batches."""
    allowed = [row for row in rows if wanted.allows(row)]
    if not wanted.marks.is_empty and allowed:
        marked = wanted.marks.matching(store, {row.memory for row in allowed}, timezone.now())
        allowed = [row for row in allowed if row.memory in marked]
    by_seq = _facts_by_seq(wanted, store, allowed) if wanted.needs_entries else {}
    if wanted.is_by_author:
        allowed = [row for row in allowed if _is_by(wanted, row, by_seq.get(row.seq))]
    candidates = {id(row) for row in allowed}
    texts: dict[str, str] = {}
    for at, row in enumerate(rows):
        if id(row) not in candidates:
            yield row, None, 0
            continue
        if wanted.contents and wanted.words and row.text and row.text not in texts:
            texts = _texts(store, [other for other in rows[at:] if id(other) in candidates], store in wanted.masked)
        hit = Hit(row, texts.get(row.text or ""), list(_notes(row, by_seq)))
        words = _words_of(wanted, hit)
        yield row, hit if words == (1 << len(wanted.words)) - 1 else None, words


def _notes(row: Row, by_seq: Mapping[int, Facts]) -> Iterator[Note]:
    for seq, of_deletion in ((row.seq, False), (row.deleted_seq, True)):
        if (facts := by_seq.get(seq)) and facts[2]:
            yield Note(facts[2], of_deletion)


def _texts(store: str, rows: Sequence[Row], masked: bool) -> dict[str, str]:
    """Return {text id: text} of the first of `rows`: at most BATCH_ROWS rows, with at most BATCH_BYTES of texts in
    total. The text of the first row is returned even if it is larger."""
    ids: list[str] = []
    size = 0
    for row in rows[:BATCH_ROWS]:
        if ids and size + row.size > BATCH_BYTES:
            break
        if row.text:
            ids.append(row.text)
            size += row.size
    return masking.texts(store, ids) if masked else MemoryText.objects.contents(store, ids)


Facts = tuple[str | None, str | None, str | None]
"""The author, session and note of an entry."""


def _facts_by_seq(wanted: Wanted, store: str, rows: Sequence[Row]) -> Mapping[int, Facts]:
    seqs = {seq for row in rows for seq in (row.seq, row.deleted_seq) if seq}
    entries = AuditEntry.objects.of_chain(store).filter(seq__in=seqs)
    if not wanted.is_by_author:
        entries = entries.exclude(note=None)
    return {seq: facts for seq, *facts in entries.values_list("seq", "author_id", "session", "note")}  # type: ignore[misc]


def _is_by(wanted: Wanted, row: Row, facts: Facts | None) -> bool:
    author, session, _ = facts or (None, None, None)
    if wanted.author not in (None, author) or wanted.session not in (None, session):
        return False
    return not is_excluded(wanted.excluded, row.at, row.path, author, session)


def _words_of(wanted: Wanted, hit: Hit) -> int:
    """Return the words that occur in the path, a note or the text, as a number. Its bit n is 1 if the word at
    position n of the search occurs."""
    left = wanted.words
    if left and wanted.paths and hit.row.path:
        left = missing(fold(hit.row.path), left)
    for note in hit.notes if wanted.notes else ():
        left = missing(fold(note.text), left) if left else left
    if left and wanted.contents and hit.text is not None:
        left = missing(fold(hit.text), left)
    return sum(1 << at for at, word in enumerate(wanted.words) if word not in left)
