"""Who has seen a version, or one line in any of the versions that contain it, and what they wrote afterwards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import History, Row, Texts
from memoryhub.actions.memories.viewing import Period, periods
from memoryhub.actions.transfer.exporting.entries import handed_out
from memoryhub.models import Finding, Memory, MemoryStore, MemoryVersion, Role
from memoryhub.models.audit import LAST_SEQ
from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.text import blame as lines_of
from memoryhub.pure.text.blame import Origin
from memoryhub.pure.text.changed_lines import Work
from memoryhub.pure.text.line_sets import LineSet
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_versions
from memoryhub.web.common.versions import memory_of, number_of, removed_history
from memoryhub.web.history.blame import lines_with_origins, picked, told_of_versions
from memoryhub.web.history.blame.lines import Authorship
from memoryhub.web.history.compare import to_choose
from memoryhub.web.sessions.copied import was_copied
from memoryhub.web.sessions.passages import Passage, passages
from memoryhub.web.sessions.readers.groups import by_reader, groups
from memoryhub.web.sessions.readers.query import Wanted, older_page
from memoryhub.web.sessions.spread import Carriers, carriers


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive versions that contain a line."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Followed:
    """A line, and where it is in the versions of its memory."""

    text: str
    origin: Origin
    told: Authorship  # who added the line
    lines: Mapping[int, int]  # {version number: number of the line in it}
    spans: list[Span]
    now: int | None  # the number of the line in the newest version, or None
    gone: int | None  # the first version after the last one with the line, or None
    whole: bool  # False if not all existing versions were examined
    since: int  # the first version that may have the line


@dataclass(frozen=True, slots=True)
class Recorded:
    """The periods in which the store recorded views by people."""

    past: Sequence[Period]
    now: Period | None  # the current period, if there is one
    always: bool  # views were recorded since the first of the page's versions was made

    @classmethod
    def of(cls, store: MemoryStore, first: datetime | None) -> "Recorded":
        found = periods(store)
        now = found[-1] if found and found[-1].until is None else None
        since = now.since if now else None
        always = since is not None and first is not None and since <= first
        return cls(found[:-1] if now else found, now, always)


@require_GET
@in_store(Role.VIEWER)
def readers(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Show who has read a memory: all versions, or only the version `version` (its number), or only its line `line`.
    With `finding`, the id of a finding of that version, show who has read the finding's text in any version."""
    memory = memory_of(store, memory_id)
    version, problem = picked(memory, request.GET.get("version", ""))
    line, no_line = _line(request.GET.get("line", ""), version)
    finding, of_value = _of_finding(memory, version, request.GET.get("finding", ""))
    followed = _followed(memory, version, line) if line and not of_value else None
    every = None if any(map(request.GET.get, ("version", "line", "finding"))) else _every(memory)
    rows, lines = (of_value.ahead.rows, of_value.lines) if of_value else _rows(memory, version, followed, every)
    page = older_page(Wanted.of(store.pk, rows, lines), number_of(request, "before"))
    shows_versions(request, store, [version] if followed or of_value else [])
    return render(
        request,
        "sessions/readers/page.html",
        pages.context(
            request,
            store,
            memory=memory,
            version=version,
            line=finding.line if finding and of_value else line,
            quoted=_quoted(version, finding.line) if finding and of_value else None,
            followed=followed,
            of_value=of_value,
            finding=finding if of_value else None,
            every=every,
            to_undo=None if every else _writing(rows, followed.origin.number if followed else version.number),
            problem=problem or no_line,
            groups=groups(by_reader(page.seen), store, person(request)),
            seen=page,
            **_unknown(store, rows, lines, _first(version, followed, every)),
            is_first="before" not in request.GET,
            **_place(store, memory, version),
            versions=[] if followed or of_value else to_choose(memory),
            maker=None if every else _maker(store, rows, version),
        ),
    )


def _of_finding(memory: Memory, version: MemoryVersion, id: str) -> tuple[Finding | None, Carriers | None]:
    """Return the finding with this id (or None), and the versions that contain its text. The second value is None if
    the finding belongs to another version or is in a path, or if its text no longer exists."""
    finding = Finding.objects.of_memory(memory.store_id, memory.pk).filter(pk=id).first()
    is_here = finding is not None and finding.version_id == version.pk
    return finding, carriers(finding, memory, version) if finding and is_here else None


def _every(memory: Memory) -> History:
    """Return all versions of a memory, or the newest if there are too many."""
    return blame.up_to(memory, memory.version_count)


def _first(version: MemoryVersion, followed: Followed | None, every: History | None) -> int:
    """Return the number of the first version that the page is about, even if that version was removed."""
    if every is None:
        return followed.since if followed else version.number
    return 1 if every.whole or every.oldest_kept else every.rows[0].number


def _maker(store: MemoryStore, rows: Iterable[Row], version: MemoryVersion) -> Authorship | None:
    return told_of_versions([row for row in rows if row.id == version.pk], store).get(version.number)


def _unknown(
    store: MemoryStore, rows: Sequence[Row], lines: Mapping[int, LineSet | None], first: int
) -> dict[str, object]:
    """Return, as template context, what cannot be known about the readers of the versions `rows`. `first` is the number
    of the first version that the page is about."""
    return {
        "exports": _exports(store, rows),
        "was_copied": was_copied(store.pk, [row for row in rows if row.number in lines]),
        "is_cut": _is_cut(store, rows, first, max(lines, default=0)),
        "recorded": Recorded.of(store, min((row.at for row in rows), default=None)),
    }


def _exports(store: MemoryStore, rows: Iterable[Row]) -> list[str]:
    """Return the commands, such as `export`, of downloads that may have contained one of these versions.

    A download whose entry names one of these versions does not count.
    """
    rows = list(rows)
    first = min((row.seq for row in rows), default=LAST_SEQ)
    return handed_out(store.pk, first, [row.id for row in rows])


def _is_cut(store: MemoryStore, rows: Iterable[Row], first: int, last: int) -> bool:
    """Return whether retention has removed some of these versions, or entries that may have shown them."""
    there = [row for row in rows if first <= row.number <= last]
    if len(there) < last - first + 1:
        return True
    oldest = removed_history.first_seq(store.pk)
    return any(row.seq < oldest for row in there)


def _place(store: MemoryStore, memory: Memory, version: MemoryVersion) -> dict[str, object]:
    """Return, as template context, the name and URLs of a memory, and the versions beside `version`."""
    crumbs = addresses.crumbs(store.pk, store.name, memory.path)
    here = reverse("memory", args=[store.pk, memory.pk])
    of_memory = {"name": memory.name, "path": memory.path, "crumbs": crumbs, "here": here}
    return {**of_memory, "is_current": version.pk == memory.head_id, **removed_history.beside(memory, version.number)}


def _quoted(version: MemoryVersion, line: int) -> Passage | None:
    """Return a line of a version with sensitive values masked, or None if the version is too large for a page."""
    return passages([(line, version, (line, line))]).get(line)


def _writing(rows: Iterable[Row], number: int) -> str | None:
    """Return the id of the version with this number, or None if it was removed."""
    return next((row.id for row in rows if row.number == number), None)


def _line(written: str, version: MemoryVersion) -> tuple[int | None, str]:
    """Return the requested line number or None, and a sentence if the requested line does not exist (else "")."""
    if not written:
        return None, ""
    number = int(written) if written.isascii() and written.isdigit() and len(written) <= 9 else 0
    if version.text_id and 1 <= number <= count_lines(version.content or ""):
        return number, ""
    return None, _("This version has no line “%(line)s”. This page shows who has seen any part of the version.") % {
        "line": written
    }


def _rows(
    memory: Memory, version: MemoryVersion, followed: Followed | None, every: History | None
) -> tuple[list[Row], dict[int, LineSet | None]]:
    """Return the versions to search for, and {version number: lines to search for (None: any line)}."""
    if every is not None:
        return list(every.rows), {row.number: None for row in every.rows if not row.is_deletion}
    if followed is None:
        rows = [row for row in blame.onward(memory, version.number, most=1).rows if not row.is_deletion]
        return rows, {row.number: None for row in rows}
    rows = list(blame.onward(memory, followed.origin.since).rows)
    last = max(followed.lines)
    gone = [row.number for row in rows if row.text is None and not row.is_deletion and row.number < last]
    return rows, {**dict.fromkeys(gone), **{number: LineSet.of([line]) for number, line in followed.lines.items()}}


def _followed(memory: Memory, version: MemoryVersion, line: int) -> Followed:
    """Return a line of a version with its origin and with all earlier and later versions that contain it."""
    behind, work = lines_with_origins(memory, version.number), Work()
    origin = behind.origins[line - 1]
    ahead = blame.onward(memory, origin.number)
    onward = ahead.versions()
    texts = Texts(memory.store_id, list(lines_of.first_places(onward)))
    lines = lines_of.follow(onward, origin.line, texts, work)
    brought = behind.history.by_number()[origin.number]
    last = ahead.rows[-1]
    is_oldest = not origin.known and origin.since == behind.history.oldest_kept
    after = [row.number for row in ahead.rows if row.number > max(lines, default=0)]
    return Followed(
        behind.lines[line - 1],
        origin,
        told_of_versions([brought], memory.store)[origin.number],
        lines,
        spans(lines),
        lines.get(last.number),
        after[0] if after else None,
        whole=ahead.whole and (origin.known or is_oldest) and not (work.passed or behind.bounded),
        since=1 if is_oldest else origin.since,
    )


def spans(numbers: Iterable[int]) -> list[Span]:
    """Return numbers as spans, in order. Consecutive numbers become one span."""
    found: list[Span] = []
    for number in sorted(numbers):
        if found and found[-1].last == number - 1:
            found[-1] = Span(found[-1].first, number)
        else:
            found.append(Span(number, number))
    return found
