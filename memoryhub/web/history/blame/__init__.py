"""Blame: for each line of a version, the version, author and session that added it, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.history import blame as blame_history
from memoryhub.actions.history.blame import History, Row, Texts
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Operation, Role, Session
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import blame as lines_of, visible
from memoryhub.pure.text.blame import Origin
from memoryhub.pure.text.changed_lines import Work, ended
from memoryhub.web.audit.merges import proposed_in
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_versions
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import memory_of, number_of, origins, removed_history
from memoryhub.web.history.blame import lines as blame_lines
from memoryhub.web.history.blame.lines import Authorship
from memoryhub.web.memories.facts import last_with_text

LINES = 2_000
"""The most lines on one page; each takes several times the bytes of a line on the memory's page."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines of a version with their origins as HTML."""

    html: SafeString
    first: int
    last: int
    total: int
    oldest: datetime | None  # an end of the scale of ages
    newest: datetime | None  # the other end
    whole: bool  # False if older versions were not read or were removed
    bounded: bool  # the texts were too large to compare line by line
    redacted: int  # lines whose origin is uncertain, because a text no longer exists
    oldest_kept: int | None  # the number of the first remaining version

    @property
    def following(self) -> int:
        return self.last + 1


@require_GET
@in_store(Role.VIEWER)
def blame(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Show the blame of the version with the number `version` in the URL, or of the newest version with a text."""
    memory = memory_of(store, memory_id)
    version, problem = picked(memory, request.GET.get("version", ""))
    shown = None
    if version.text_id is not None:
        first = number_of(request, "from") or 1
        shown = _shown(lines_with_origins(memory, version.number), store, first)
        shows_versions(request, store, [version])
    return render(
        request,
        "history/blame/page.html",
        pages.context(
            request,
            store,
            memory=memory,
            version=version,
            shown=shown,
            problem=problem,
            name=memory.name,
            path=memory.path,
            crumbs=addresses.crumbs(store.id, store.name, memory.path),
            here=reverse("memory", args=[store.id, memory.pk]),
            is_current=version.pk == memory.head_id,
            has_hidden=shown is not None and visible.has_hidden(version.content or ""),
            **removed_history.beside(memory, version.number),
        ),
    )


def picked(memory: Memory, written: str) -> tuple[MemoryVersion, str]:
    """Return the version with the number `written`, and "".

    If `written` is empty, return the newest version with a text, and "". If no version has the number, return the
    newest version with a text, and a sentence that explains this. If no version has a text, the newest version is
    returned instead. Raise Http404 if the memory has no version.
    """
    found = MemoryVersion.objects.of_memory(memory).select_related("text")
    if written.isascii() and written.isdigit() and len(written) <= 18:
        version = found.filter(number=int(written)).first()
        if version is not None:
            return version, ""
    newest = found.filter(pk=memory.head_id).first()
    if newest is None or newest.operation == Operation.DELETED:
        newest = last_with_text(memory) or newest
    if newest is None:
        raise Http404
    return newest, removed_history.no_version(memory, written) if written else ""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a version and the origin of each."""

    history: History
    lines: Sequence[str]
    origins: Sequence[Origin]
    bounded: bool


def lines_with_origins(memory: Memory, number: int) -> Lines:
    """Return the lines of a version that has a text, with their origins."""
    history, work = blame_history.up_to(memory, number), Work()
    versions = history.versions()
    texts = Texts(memory.store_id, lines_of.texts_of_blame(versions))
    text = ended(texts(versions[-1].text or ""))
    origins = lines_of.blame(versions, texts, work, whole=history.whole)
    shown = masking.masked(text, masking.cover_of(memory.store_id, memory.pk))
    return Lines(history, shown.split("\n")[:-1], origins, work.passed)


def _shown(found: Lines, store: MemoryStore, first: int) -> Shown:
    total = len(found.lines)
    first = max(1, min(first, total or 1))
    last = min(total, first + LINES - 1)
    here = found.origins[first - 1 : last]
    brought = {origin.number for origin in here}
    origins = told_of_versions([row for row in found.history.rows if row.number in brought], store)
    oldest, newest = blame_lines.ends(origins)
    page = blame_lines.Page(store.id, origins, oldest, newest)
    return Shown(
        blame_lines.to_html(page, found.lines[first - 1 : last], here, first),
        first,
        last,
        total,
        oldest,
        newest,
        all(origin.known for origin in here),
        found.bounded,
        sum(origin.since != origin.number for origin in here),
        found.history.oldest_kept,
    )


def told_of_versions(rows: Sequence[Row], store: MemoryStore) -> dict[int, Authorship]:
    """Return {version number: its author and its session}. If an agent proposed a version, this agent is its author,
    and its note says who merged the proposal."""
    columns = ("seq", "actor_kind", "author_id", "label", "note", "session", "command")
    entries = AuditEntry.objects.of_chain(store.id).of_seqs(row.seq for row in rows).values_list(*columns)
    known = {seq: rest for seq, *rest in entries}
    ids = {session for *_rest, session, _command in known.values() if session}
    names = dict(Session.objects.filter(pk__in=ids).values_list("id", "name"))
    proposed = proposed_in(store.id, ((seq, rest[-1]) for seq, rest in known.items()))
    brought = origins.of_ids(store.id, [row.id for row in rows])
    found = {}
    for row in rows:
        if row.id in brought:
            found[row.number] = Authorship(row, brought[row.id].kind, None, brought[row.id].label)
            continue
        kind, author, label, note, session, _command = known.get(row.seq, ("", None, "", "", None, None))
        if by := proposed.get(row.seq):
            kind, author, label, note = ActorKind.KEY, by.agent, by.label, _("merged by %(name)s") % {"name": label}
        name = names.get(session, session) or ""
        found[row.number] = Authorship(row, kind, author, label or "", session, name, note or "")
    return found
