"""The life line of a memory: its versions, reads, findings and periods in the trash, over the entries of its store.

At most VERSIONS versions are loaded. In each column, at most SCANNED entries are scanned for reads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core import sql
from memoryhub.actions.erasure.redacted_paths import MASKED
from memoryhub.models import AuditChain, AuditEntry, Finding, FindingState, Memory, MemoryVersion, Operation
from memoryhub.models.audit import ActorKind
from memoryhub.pure.charts import Scale
from memoryhub.web.common import moment_addresses as addresses
from memoryhub.web.common.pictures import Cell, number
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.origins import Origin

COLUMNS = 100
VERSIONS = 300
"""The most versions that are read. If a memory has more, the read versions are evenly spaced, and each represents
several."""

SCANNED = 25
"""The most entries scanned for reads in one column."""

FINDINGS, PATHS, UNKNOWN = 200, 40, 5
FEW = 2
"""The least number of versions and reads for which a memory has a life line."""

AGENTS, PEOPLE, HUB = "agents", "people", "hub"
_KINDS = {ActorKind.KEY.value: AGENTS, ActorKind.USER.value: PEOPLE}


@dataclass(slots=True)
class Column:
    """The contents of one column."""

    seq: int = 0  # the newest entry
    x: float = 0
    at: datetime | None = None  # the time of the newest entry
    url: str = ""
    # versions by the kind of their author
    made: dict[str, int] = field(default_factory=lambda: dict.fromkeys((AGENTS, PEOPLE, HUB), 0))
    reads: int = 0
    more: bool = False  # there are further reads
    open: int = 0  # open findings
    settled: int = 0  # other findings
    deleted: bool = False

    @property
    def when(self) -> str:
        """Return the time of the column's newest entry, or the number of this entry if it was removed."""
        if self.at is None:
            return _("entry %(seq)s") % {"seq": number(self.seq)}
        return date_format(timezone.localtime(self.at), "j M Y H:i")

    @property
    def name(self) -> str:
        """Return a sentence on what happened in the column."""
        return f"{self.when}: {', '.join(self._words())}"

    @property
    def reads_shown(self) -> str:
        return f"{number(self.reads)}+" if self.more else number(self.reads)

    def _words(self) -> Iterator[str]:
        counts = (
            (
                self.made[AGENTS],
                ngettext("%(count)s version by agents", "%(count)s versions by agents", self.made[AGENTS]),
            ),
            (
                self.made[PEOPLE],
                ngettext("%(count)s version by people", "%(count)s versions by people", self.made[PEOPLE]),
            ),
            (self.made[HUB], ngettext("%(count)s version by the hub", "%(count)s versions by the hub", self.made[HUB])),
        )
        yield from (words % {"count": number(count)} for count, words in counts if count)
        if self.reads:
            yield ngettext("%(count)s read", "%(count)s reads", self.reads) % {"count": self.reads_shown}
        if found := self.open + self.settled:
            yield ngettext("%(count)s finding", "%(count)s findings", found) % {"count": number(found)}
        if self.deleted:
            yield _("moved to the trash")


@dataclass(frozen=True, slots=True)
class LifeLine:
    """A memory's life line."""

    memory: Memory
    marks: Sequence[Column]
    reach: float  # the width of a column in per cent
    present: float  # the position of the first drawn version
    gaps: Sequence[tuple[float, float]]  # (x, width) of each period in the trash, in per cent
    here: float | None  # the position of the moment that the page is about
    says: str

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Return (mark, name) of the marks that occur."""
        names = {AGENTS: _("by agents"), PEOPLE: _("by people"), HUB: _("by the hub")}
        found = [(by, name) for by, name in names.items() if any(mark.made[by] for mark in self.marks)]
        found += [("read", _("read"))] if any(mark.reads for mark in self.marks) else []
        found += [("open", _("open finding"))] if any(mark.open for mark in self.marks) else []
        found += [("settled", _("settled finding"))] if any(mark.settled for mark in self.marks) else []
        return found + ([("gap", _("in the trash"))] if self.gaps else [])

    @property
    def columns(self) -> list[str]:
        """Return the titles of the columns of the table."""
        return [
            _("When"), _("Entry"), _("By agents"), _("By people"), _("By the hub"), _("Reads"), _("Findings"),
            _("To the trash"),
        ]  # fmt: skip

    @property
    def rows(self) -> list[list[Cell]]:
        """Return the rows of the table, newest first."""
        return [self._row(mark) for mark in reversed(self.marks)]

    @staticmethod
    def _row(mark: Column) -> list[Cell]:
        found = mark.open + mark.settled
        counts = [Cell(count, number(count)) for count in mark.made.values()]
        return [
            Cell(mark.at and mark.at.isoformat(), mark.when, mark.url), Cell(mark.seq, number(mark.seq)), *counts,
            Cell(mark.reads_shown, mark.reads_shown), Cell(found, number(found)),
            Cell(int(mark.deleted), number(int(mark.deleted))),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Version:
    """A drawn version. It represents `count` versions: itself, and those directly before it that are not drawn."""

    number: int
    seq: int
    operation: str
    path: str | None
    count: int
    imported: Origin | None


def of(memory: Memory, first: int | None = None, here: int | None = None) -> LifeLine | None:
    """Return the life line of a memory, or None if the memory has fewer than FEW versions and reads together.

    The life line begins at the entry `first` (default: the first version). `here` is the entry whose moment the
    page is about.
    """
    if memory.version_count + memory.read_count < FEW:
        return None
    versions = _versions(memory)
    last = AuditChain.objects.filter(pk=memory.store_id).values_list("last_seq", flat=True).first() or 0
    if not versions or last < 1:
        return None
    scale = Scale.of(min(first or versions[0].seq, last), last, COLUMNS)
    columns = [Column() for _column in range(scale.columns)]
    _add_versions(memory, versions, scale, columns)
    _add_reads(memory, versions, scale, columns)
    _add_findings(memory, scale, columns)
    marks = _placed(memory, scale, [column for column in columns if column.seq])
    place = None if here is None else scale.x(here)
    reach, present = round(100 / scale.columns, 3), scale.x(versions[0].seq)
    return LifeLine(memory, marks, reach, present, _gaps(versions, scale), place, _says(memory, marks, len(versions)))


def _versions(memory: Memory) -> list[_Version]:
    """Return at most VERSIONS versions, in order. If the memory has more, they are evenly spaced and include the
    newest."""
    found = MemoryVersion.objects.of_memory(memory).order_by("number")
    counts: dict[int, int] = {}
    if memory.version_count > VERSIONS:
        steps = [(at * (memory.version_count - 1)) // (VERSIONS - 1) + 1 for at in range(VERSIONS)]
        counts = {step: step - before for before, step in pairwise([0, *steps])}
        found = found.filter(number__in=steps)
    rows = list(found.only("number", "seq", "operation", "path", "origin"))
    imported = origins.of_versions(rows)
    return [
        _Version(row.number, row.seq, row.operation, row.path, counts.get(row.number, 1), imported.get(row.pk))
        for row in rows
    ]


def _add_versions(memory: Memory, versions: Sequence[_Version], scale: Scale, columns: Sequence[Column]) -> None:
    entries = AuditEntry.objects.of_chain(memory.store_id).of_seqs({version.seq for version in versions})
    kinds = dict(entries.values_list("seq", "actor_kind"))
    for version in versions:
        column = columns[scale.column(version.seq)]
        column.seq = max(column.seq, version.seq)
        kind = version.imported.kind if version.imported else kinds.get(version.seq, "")
        column.made[_KINDS.get(kind, HUB)] += version.count
        column.deleted = column.deleted or version.operation == Operation.DELETED


def _add_reads(memory: Memory, versions: Sequence[_Version], scale: Scale, columns: Sequence[Column]) -> None:
    """Add to each column the number of reads of the memory in the column's entries."""
    spans: list[sql.Span] = []
    places: list[int] = []
    for path, low, high in _paths(versions, scale.last)[-PATHS:]:
        for place in range(scale.column(low), scale.column(high) + 1):
            start, end = scale.bounds(place)
            spans.append((len(spans), path, max(low, start), min(high, end)))
            places.append(place)
    for at, reads, newest, scanned in sql.reads_in(memory.store_id, memory.pk, spans, SCANNED):
        column = columns[places[at]]
        column.seq = max(column.seq, newest)
        column.reads += reads
        column.more = column.more or scanned > spans[at][2]


def _paths(versions: Sequence[_Version], last: int) -> list[tuple[str, int, int]]:
    """Return (path, first entry, last entry) for each period in which the memory was, or may have been, at a path."""
    found: list[tuple[str, int, int]] = []
    latest: dict[str, int] = {}
    unknown = list(dict.fromkeys([MASKED, *(version.path for version in versions if version.path)]))[:UNKNOWN]
    for version, following in zip(versions, [*versions[1:], None], strict=True):
        end = last if following is None else following.seq - 1
        stays = [] if version.operation == Operation.DELETED else [version.path]
        moves = [following.path] if following and following.number > version.number + 1 else []
        for path in dict.fromkeys(each for one in stays + moves for each in (unknown if one is None else [one])):
            before = latest.get(path)
            if before is not None and found[before][2] >= version.seq - 1:
                found[before] = (path, found[before][1], max(end, found[before][2]))
            elif end >= version.seq:
                latest[path] = len(found)
                found.append((path, version.seq, end))
    return found


def _add_findings(memory: Memory, scale: Scale, columns: Sequence[Column]) -> None:
    found = Finding.objects.of_memory(memory.store_id, memory.pk).newest()
    for state, seq in found.values_list("state", "version__seq")[:FINDINGS]:
        if seq is None:
            continue
        column = columns[scale.column(seq)]
        column.seq = max(column.seq, seq)
        if state == FindingState.OPEN:
            column.open += 1
        else:
            column.settled += 1


def _placed(memory: Memory, scale: Scale, marks: Sequence[Column]) -> Sequence[Column]:
    """Set the position, time and URL of each mark, and return the marks."""
    entries = AuditEntry.objects.of_chain(memory.store_id).of_seqs(mark.seq for mark in marks)
    moments = dict(entries.values_list("seq", "at"))
    for mark in marks:
        mark.x, mark.at = scale.x(mark.seq), moments.get(mark.seq)
        mark.url = addresses.of_memory(memory.store_id, mark.seq, memory.pk)
    return marks


def _gaps(versions: Sequence[_Version], scale: Scale) -> list[tuple[float, float]]:
    """Return (x, width) in per cent for each period in the trash."""
    ends = [following.seq for _version, following in pairwise(versions)] + [scale.last]
    found = []
    for version, end in zip(versions, ends, strict=True):
        start, stop = scale.x(version.seq), scale.x(end)
        if version.operation == Operation.DELETED and stop > start:
            found.append((start, round(stop - start, 3)))
    return found


def _says(memory: Memory, marks: Sequence[Column], drawn: int) -> str:
    """Return sentences that describe the life line. `drawn` is the number of versions that are drawn."""
    says = _("From %(first)s to %(last)s.") % {"first": marks[0].when, "last": marks[-1].when}
    if memory.version_count > VERSIONS:
        says += " " + _("Drawn from %(drawn)s of %(count)s versions.") % {
            "drawn": number(drawn), "count": number(memory.version_count),
        }  # fmt: skip
    return says
