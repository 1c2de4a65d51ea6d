"""Finds by indexes the calls that showed a version, or that showed one line in any of the versions that contain it.

A read by the tool is found by the version's path, among the entries between the one that made the version and the one
that made the next version. Entries of other doors name the version. The entry of a search names no version, so only the
newest searches are scanned.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from memoryhub.actions.erasure.redacted_paths import MASKED
from memoryhub.actions.history.blame import Row, line_counts
from memoryhub.actions.memories import viewing
from memoryhub.actions.search import search
from memoryhub.models import AuditEntry, MemoryText, MemoryVersion
from memoryhub.models.audit import LAST_SEQ, AuditEntryQuerySet, by_path_alone
from memoryhub.pure.text.line_sets import LineSet

PAGE = 50
LOOK = 2_000
"""The most entries that are scanned for one page."""

CHUNK = 250
MOST_RANGES = 40
MOST_PATHS = 20
"""The most paths at which the reads of redacted versions are searched for."""

SEARCHES = 500
"""The most searches that are scanned for one page."""

MOST_SEARCHED = 2_000_000
"""The most characters of text that are searched for one page, to find the lines that recorded searches showed."""

SLACK = 200
"""The most entries that other calls may write between a search and the entry of this search."""

VIEWS = 2_000
"""The most views by people that are scanned for one page."""

READS = ("view", "download", "export", "reveal", viewing.COMMAND)
_COLUMNS = (
    "seq", "at", "actor_kind", "author_id", "label", "session", "command", "version", "ok", "replay_of", "first_line",
    "last_line", "cut",
)  # fmt: skip


class Entry(NamedTuple):
    """The columns of an audit entry that this module needs."""

    seq: int
    at: datetime
    kind: str
    author: str | None
    label: str | None
    session: str | None
    command: str | None
    version: str | None
    ok: bool
    replay_of: int | None
    first: int | None
    last: int | None
    cut: bool | None


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer that showed the lines `first` to `last` of a version (both None: all lines)."""

    entry: Entry
    version: Row
    line: int | None  # the first requested line that the answer showed
    first: int | None
    last: int | None
    own: bool  # the call itself made the version
    found: LineSet | None = None  # the only lines that a search showed (None: unknown)
    total: int | None = None

    @property
    def is_search(self) -> bool:
        return self.entry.command == search.COMMAND

    @property
    def is_view(self) -> bool:
        """Return whether a page showed a person the text, or parts of it."""
        return self.entry.command == viewing.COMMAND

    @property
    def is_whole(self) -> bool:
        """Return whether the answer showed all `total` lines of the version."""
        if self.is_search or self.is_view:
            return False
        return self.first is None or (self.first == 1 and self.total is not None and self.last == self.total)

    def shown(self, lines: LineSet) -> LineSet:
        """Return those of `lines` that the answer showed, or may have shown."""
        if self.found is not None:
            return lines.intersection(self.found)
        return lines if self.first is None or self.last is None else lines.within(self.first, self.last)


@dataclass(frozen=True, slots=True)
class Page:
    """Answers, newest first. `older` is the seq before which the next page begins, or None at the end.

    Searches up to the seq `unsearched`, and views by people up to the seq `unviewed`, were not scanned.
    """

    seen: Sequence[Seen]
    older: int | None
    unsearched: int | None = None
    unviewed: int | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """The entries at a path from the seq `low` to the seq `high`, both included."""

    path: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The versions to search for, each with the lines to search for (None: any line)."""

    chain: str
    lines: Mapping[str, tuple[Row, LineSet | None]]

    @classmethod
    def of(cls, chain: str, rows: Sequence[Row], lines: Mapping[int, LineSet | None]) -> "Wanted":
        """Return the `Wanted` for those versions in `rows` whose numbers are keys of `lines`."""
        return cls(chain, {row.id: (row, lines[row.number]) for row in rows if row.number in lines})

    @property
    def makers(self) -> set[int]:
        """Return the seqs of the entries that made the versions."""
        return {row.seq for row, _lines in self.lines.values()}

    @property
    def last(self) -> int | None:
        """Return the seq of the entry that superseded the last of the versions; None if one is still the newest of its
        memory."""
        ends = [row.superseded_seq for row, _lines in self.lines.values()]
        return None if None in ends else max(filter(None, ends), default=0)

    def ranges(self) -> list[Range]:
        """Return the ranges of entries in which the tool may have shown one of the versions, newest first."""
        ranges: list[Range] = []
        last: dict[str, int] = {}
        rows = sorted((row for row, _lines in self.lines.values()), key=lambda row: row.seq)
        unknown = _paths_of(self.chain, [row for row in rows if row.path is None])
        for row in rows:
            high = LAST_SEQ if row.superseded_seq is None else row.superseded_seq - 1
            if high < row.seq:
                continue  # never the newest version: part of an imported history
            for path in unknown if row.path is None else (row.path,):
                before = last.get(path)
                if before is not None and ranges[before].high >= row.seq - 1:
                    ranges[before] = Range(path, ranges[before].low, max(high, ranges[before].high))
                else:
                    last[path] = len(ranges)
                    ranges.append(Range(path, row.seq, high))
        return sorted(ranges, key=lambda found: -found.high)


def _paths_of(chain: str, redacted: Sequence[Row]) -> list[str]:
    """Return at most MOST_PATHS paths. An entry that showed one of the redacted versions may have any of them."""
    if not redacted:
        return []
    memories = MemoryVersion.objects.among(chain, [row.id for row in redacted]).values_list("memory_id", flat=True)
    beside = MemoryVersion.objects.filter(store_id=chain, memory_id__in=set(memories), path__isnull=False)
    made = AuditEntry.objects.of_chain(chain).of_seqs({row.seq for row in redacted}).values_list("path", "new_path")
    known = [path for paths in made for path in paths if path]
    paths = beside.order_by("path").values_list("path", flat=True).distinct()[:MOST_PATHS]
    known += [path for path in paths if path]
    # a redaction masks a path in entries, unless another version has this path
    return list(dict.fromkeys([MASKED, *known]))[:MOST_PATHS]


def older_page(
    wanted: Wanted, before: int | None, size: int = PAGE, *, leaves_out: Callable[[Entry], bool] = lambda entry: False
) -> Page:
    """Return the newest answers that showed a wanted version. With `before`, only entries before this seq count.

    Entries for which `leaves_out` returns True are skipped.
    """
    bound = LAST_SEQ if before is None else before - 1
    ranges = [found for found in wanted.ranges() if found.low <= bound]
    opened, left = ranges[:MOST_RANGES], ranges[MOST_RANGES:]
    end = left[0].high + 1 if left else None
    seen: list[Seen] = []
    repeats, searches = _Repeats(wanted), _Searches(wanted)
    last: tuple[int, str | None] = (0, None)
    looked = 0
    views = _Views(wanted)
    sources = [*_sources(wanted, opened, end or 1, bound), searches.walk(end or 1, bound), views.walk(end or 1, bound)]
    for entry in heapq.merge(*sources, key=lambda entry: -entry.seq):
        if last == (entry.seq, entry.version):
            continue  # the entry was found by two indexes
        found = None if leaves_out(entry) else _seen(wanted, entry, repeats, searches)
        if entry.seq != last[0] and (looked >= LOOK or (found is not None and len(seen) >= size)):
            end = last[0]
            break
        last, looked = (entry.seq, entry.version), looked + 1
        if found is not None:
            seen.append(found)
    return Page(_counted(wanted.chain, seen), end, searches.unsearched(end), views.unsearched(end))


def _sources(wanted: Wanted, ranges: Sequence[Range], low: int, high: int) -> Iterator[Iterator[Entry]]:
    """Yield, for each index, the entries from `low` to `high` that may have shown a wanted version, newest first."""
    entries = AuditEntry.objects.of_chain(wanted.chain)
    for found in ranges:
        yield _walk(entries.at_path(found.path), max(found.low, low), min(found.high, high))
    yield _walk(entries.by_version(list(wanted.lines)), low, high, values=len(wanted.lines))
    yield _walk(entries.filter(replay_of__in=wanted.makers), low, high, values=len(wanted.lines))


def _counted(store_id: str, seen: Sequence[Seen]) -> list[Seen]:
    """Return the answers with the number of lines of their versions, and with `last` not above this number."""
    totals = line_counts([store_id], {found.version.id for found in seen})
    return [_within(found, totals.get(found.version.id)) for found in seen]


def _within(found: Seen, total: int | None) -> Seen:
    if total is None or found.last is None:
        return replace(found, total=total)
    return replace(found, total=total, last=max(1, min(found.last, total)))


def _walk(rows: AuditEntryQuerySet, low: int, high: int, values: int = 1) -> Iterator[Entry]:
    """Yield the entries of `rows` from the seq `low` to the seq `high`, newest first.

    `rows` is filtered by one or more values, such as version ids. `values` is the number of these values.
    """
    while high >= low:
        # sorted first for several values, so that the database does not read the whole chain
        many = by_path_alone(rows, low, high).order_by("-place")
        chunk = rows.between(low, high).newest() if values == 1 else many
        entries = [Entry(*row) for row in chunk.values_list(*_COLUMNS)[:CHUNK]]
        yield from entries
        if len(entries) < CHUNK:
            return
        high = entries[-1].seq - 1


def _seen(wanted: Wanted, entry: Entry, repeats: "_Repeats", searches: "_Searches") -> Seen | None:
    """Return which of the wanted lines the answer of an entry showed, or None if it showed none."""
    if not entry.ok:
        return None
    shown, first, last = entry.version, entry.first, entry.last
    if shown is None and entry.replay_of is not None:
        shown, first, last = repeats.of(entry.replay_of)
    if shown not in wanted.lines:
        return None
    version, lines = wanted.lines[shown or ""]
    is_search = entry.command == search.COMMAND
    if entry.command not in READS and first is None and not is_search:
        return None
    found = searches.lines(entry, version) if is_search else None
    seen = Seen(entry, version, None, first, last, entry.seq == version.seq, found)
    if lines is None:
        return None if found is not None and not found else seen
    of_lines = seen.shown(lines)
    return replace(seen, line=of_lines.first) if of_lines else None


class _Searches:
    """The newest searches of a page, and which lines of the versions they showed."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.inputs: dict[int, str | None] = {}
        self.text: tuple[str | None, str] = (None, "")
        self.cut: int | None = None
        self.left = MOST_SEARCHED
        self.known: dict[tuple[str, str | None, str], LineSet | None] = {}

    def walk(self, low: int, high: int) -> Iterator[Entry]:
        """Yield the searches from the seq `low` to the seq `high`, newest first, once for each version found."""
        low, last = max(low, min(self.wanted.makers, default=LAST_SEQ)), self.wanted.last
        searches = AuditEntry.objects.of_chain(self.wanted.chain).of_command(search.COMMAND)
        rows = searches.between(low, high if last is None else min(high, last + SLACK)).newest()
        for place, (*columns, message, input) in enumerate(
            rows.values_list(*_COLUMNS, "message", "input")[: SEARCHES + 1]
        ):
            entry = Entry(*columns)
            if place == SEARCHES:
                self.cut = entry.seq
                return
            for version in search.found_versions(message) if entry.ok else ():
                if version in self.wanted.lines:
                    self.inputs[entry.seq] = input
                    yield entry._replace(version=version)

    def lines(self, entry: Entry, version: Row) -> LineSet | None:
        """Return the lines of `version` that the search of `entry` showed, or None if this is not known."""
        query = search.query_of(self.inputs[entry.seq])
        if version.text is None or query is None:
            return None
        asked = (query, version.path, version.text)
        if asked not in self.known:
            if self.text[0] != version.text:
                texts = MemoryText.objects.contents(self.wanted.chain, [version.text])
                self.text = (version.text, texts.get(version.text, ""))
            self.left -= len(self.text[1])
            enough = self.left >= 0
            found = search.lines_found(query, version.path or "", self.text[1]) if enough else None
            self.known[asked] = None if found is None else LineSet.of(found)
        return self.known[asked]

    def unsearched(self, end: int | None) -> int | None:
        """Return the seq of the newest search that belongs to this page but was not scanned, or None.

        The next page begins before `end`.
        """
        return self.cut if self.cut is not None and (end is None or end <= self.cut) else None


class _Views:
    """The newest entries of people who opened a page with the texts of several versions."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.cut: int | None = None

    def walk(self, low: int, high: int) -> Iterator[Entry]:
        """Yield the views from the seq `low` to the seq `high`, newest first, once for each version shown."""
        low = max(low, min(self.wanted.makers, default=LAST_SEQ))
        views = AuditEntry.objects.of_chain(self.wanted.chain).of_command(viewing.COMMAND).between(low, high)
        rows = views.filter(version=None).newest().values_list(*_COLUMNS, "input")[: VIEWS + 1]
        for place, (*columns, input) in enumerate(rows):
            entry = Entry(*columns)
            if place == VIEWS:
                self.cut = entry.seq
                return
            for version in viewing.versions_in(input):
                if version in self.wanted.lines:
                    yield entry._replace(version=version)

    def unsearched(self, end: int | None) -> int | None:
        """Return the seq of the newest view that belongs to this page but was not scanned, or None.

        The next page begins before `end`.
        """
        return self.cut if self.cut is not None and (end is None or end <= self.cut) else None


class _Repeats:
    """Finds what a repeated call showed: the version and the lines of the first call, if that made a wanted version."""

    def __init__(self, wanted: Wanted) -> None:
        self.chain = wanted.chain
        self.makers = wanted.makers
        self.known: dict[int, tuple[str | None, int | None, int | None]] = {}

    def of(self, seq: int) -> tuple[str | None, int | None, int | None]:
        """Return (version, first line, last line) of the call with the entry `seq`, or (None, None, None) if the call
        made no wanted version."""
        if seq not in self.makers:
            return None, None, None
        if seq not in self.known:
            found = AuditEntry.objects.of_chain(self.chain).filter(seq=seq)
            self.known[seq] = found.values_list("version", "first_line", "last_line").first() or (None, None, None)
        return self.known[seq]
