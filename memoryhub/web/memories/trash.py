"""The trash of a store: deleted memories, filters, and a form that restores memories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Role
from memoryhub.models.audit import ActorKind
from memoryhub.models.memories import MemoryQuerySet
from memoryhub.web.audit import filters as audit
from memoryhub.web.audit.filters import is_at, is_excluded, named, resolved
from memoryhub.web.audit.queries import Search
from memoryhub.web.common import pages
from memoryhub.web.common.filters import KeyValues, Malformed, has_words
from memoryhub.web.common.filters.bar import bar_of
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.marks import UNMARKED, Marks, marks_of
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.origins import Origin

SIZE = 100
MOST_READ = 1000
"""The most deleted memories that one request scans for matches."""
_TOLD = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "session", "command", "path", "memory",
    "note",
)  # fmt: skip
MOST_BYTES, LONGEST_LINE = 400_000, 120
"""The most bytes of texts that are read for the first lines on a page, and the most characters of such a line."""


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The filter of the trash that a person typed."""

    KEYS = ("path", "agent", "person", "when", "from", "to")
    VERBS = {"deleted": None}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        return "path" if value.startswith("/") else None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The deletions to show: they match `search`, and the memory's path contains all `words` (folded)."""

    search: Search
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in the trash, and the audit entry of its deletion."""

    memory: Memory
    entry: AuditEntry | None
    origin: Origin | None = None  # who deleted the memory at its source, if an import brought the deletion
    marks: Marks = UNMARKED
    line: str = ""  # the first line of the text, masked

    @property
    def by_policy(self) -> bool:
        return self.entry is not None and self.entry.actor_kind == ActorKind.POLICY

    @property
    def bytes(self) -> int:
        """Return the size of the text; 0 if the text is redacted."""
        return (self.memory.size or 0) if self.memory.text_id else 0

    @property
    def seq(self) -> int:
        return self.memory.head.seq


@dataclass(frozen=True, slots=True)
class Group:
    """Adjacent rows of memories that the same entry deleted. `is_together` means that this entry deleted several
    memories."""

    entry: AuditEntry | None
    seq: int
    rows: Sequence[Row]

    @property
    def is_together(self) -> bool:
        return self.entry is not None and self.entry.memory is None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows."""

    rows: Sequence[Row]
    older: str | None  # the memory after which the next page begins, or None
    is_cut: bool  # the scan stopped after MOST_READ deleted memories

    @property
    def groups(self) -> list[Group]:
        found = ((seq, list(rows)) for seq, rows in groupby(self.rows, key=lambda row: row.seq))
        return [Group(rows[0].entry, seq, rows) for seq, rows in found]


NOTHING = Page((), None, False)


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """List deleted memories, the newest deletion first.

    If the URL has the id of a memory as `before`, the list begins after this memory.
    """
    before = request.GET.get("before", "")
    parameters = request.GET.dict()
    typed, shown, problem = Filter.as_typed(parameters), NOTHING, ""
    try:
        typed = Filter.of(parameters, person(request))
        shown = _marked(found(store, wanted_of(typed, store), before))
    except Malformed as malformed:
        problem = str(malformed)
    lines = {row.memory.pk: row.memory.text_id for row in shown.rows if row.line}
    versions = MemoryVersion.objects.filter(store=store, memory_id__in=lines, text_id__in=set(lines.values()))
    shows(request, store, versions.values_list("memory_id", "pk") if lines else ())
    return render(
        request,
        "memories/trash/page.html",
        pages.context(
            request,
            store,
            rows=shown.rows,
            groups=shown.groups,
            is_cut=shown.is_cut,
            before=before,
            problem=problem,
            older=shown.older,
            older_url=shown.older and "?" + typed.query(before=shown.older),
            **bar_of(
                typed,
                parameters,
                named(audit.Filter(typed.values), [store.id]),
                user=person(request),
                here=request.path,
            ),
        ),
    )


def wanted_of(typed: Filter, store: MemoryStore) -> Wanted:
    """Return the search that a filter describes. Raise Malformed if the filter is invalid."""
    now, zone = timezone.now(), timezone.get_current_timezone()
    target = resolved(audit.Filter(typed.values), [store.id], now=now, zone=zone)
    return Wanted(target.search, typed.folded)


def found(store: MemoryStore, wanted: Wanted, before: str) -> Page:
    """Return at most SIZE matching rows after the memory `before` (empty: the first page). At most MOST_READ memories
    are scanned."""
    rows: list[Row] = []
    last, read = before, 0
    for row in every(store, wanted.search, before, most=MOST_READ + 1):
        if len(rows) == SIZE and matches(row, wanted):
            return Page(rows, rows[-1].memory.id, False)
        if read == MOST_READ:
            return Page(rows, last, len(rows) < SIZE)
        read, last = read + 1, row.memory.id
        if matches(row, wanted):
            rows.append(row)
    return Page(rows, None, False)


def every(store: MemoryStore, search: Search, before: str = "", *, most: int | None = None) -> Iterator[Row]:
    """Yield the memories deleted within the time range of a search, newest first, each with its audit entry. `before`
    is the memory after which to begin, and `most` the largest number of memories (None: no limit)."""
    read = 0
    while most is None or read < most:
        part = _part(store, search, before, SIZE + 1 if most is None else min(SIZE + 1, most - read))
        by_seq = _entries(store, {memory.head.seq for memory in part})
        imported = origins.of_versions(memory.head for memory in part)
        yield from (Row(memory, by_seq.get(memory.head.seq), imported.get(memory.head_id)) for memory in part)
        if len(part) <= SIZE:
            return
        before, read = part[-1].id, read + len(part)


def matches(row: Row, wanted: Wanted) -> bool:
    """Return whether a deletion is one of those to show. Its time is assumed to be in the range of the search."""
    search, path = wanted.search, row.memory.path
    entry = None if row.origin else row.entry
    author, session = (entry.author_id, entry.session) if entry else (None, None)
    if search.author is not None and author != search.author:
        return False
    if search.path is not None and not is_at(path, search.path):
        return False
    at = row.memory.deleted_at
    return has_words(path, wanted.words) and not (at and is_excluded(search.excluded, at, path, author, session))


def _marked(page: Page) -> Page:
    marks = marks_of([row.memory for row in page.rows], timezone.now())
    lines = _first_lines([row.memory for row in page.rows])
    rows = [replace(row, marks=marks[row.memory.pk], line=lines.get(row.memory.text_id or "", "")) for row in page.rows]
    return replace(page, rows=rows)


def _first_lines(memories: Sequence[Memory]) -> dict[str, str]:
    """Return {text id: first non-empty line, masked} for these memories.

    The memories are read in order. If a text would raise the total above MOST_BYTES, its memory and all later ones are
    left out.
    """
    ids, left = [], MOST_BYTES
    for memory in memories:
        left -= memory.size
        if left < 0:
            break
        ids += [memory.text_id] if memory.text_id else []
    texts = masking.texts(memories[0].store_id, ids) if ids else {}
    return {id: text.strip().partition("\n")[0][:LONGEST_LINE] for id, text in texts.items()}


def _entries(store: MemoryStore, seqs: set[int]) -> dict[int, AuditEntry]:
    return {entry.seq: entry for entry in AuditEntry.objects.of_chain(store.id).of_seqs(seqs).only(*_TOLD)}


def _part(store: MemoryStore, search: Search, before: str, size: int) -> list[Memory]:
    """Return one batch of at most `size` memories after the memory `before`."""
    # ids first, because many memories may have the same moment, and all of these are sorted
    ids = list(_trash(store, search, before).values_list("pk", flat=True)[:size])
    found = Memory.objects.filter(store=store).select_related("head").in_bulk(ids)
    return [found[id] for id in ids if id in found]


def _trash(store: MemoryStore, search: Search, before: str) -> MemoryQuerySet:
    """Return the memories deleted within the time range of `search`, newest first, after the memory `before`."""
    trash = Memory.objects.in_trash().filter(store=store).order_by("-deleted_at", "-id")
    if search.start is not None:
        trash = trash.filter(deleted_at__gte=search.start)
    if search.end is not None:
        trash = trash.filter(deleted_at__lt=search.end)
    last = Memory.objects.in_trash().filter(store=store, pk=before).first() if before else None
    if last is None:
        return trash
    earlier = Q(deleted_at__lt=last.deleted_at) | Q(deleted_at=last.deleted_at, id__lt=last.id)
    return trash.filter(earlier, deleted_at__lte=last.deleted_at)  # the index needs a bound outside the OR
