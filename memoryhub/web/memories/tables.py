"""Tables of the trash, and of a memory's versions and life line; each download is audited first."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.utils import timezone
from django.views.decorators.http import require_POST

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.rules.holds import holds_of
from memoryhub.actions.retention import policies
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Review, Role
from memoryhub.pure.chain import moment
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import exported, session_names
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.decided import decided
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.memories import life_line, trash as trash_page
from memoryhub.web.retention import due
from memoryhub.web.retention.due import Kept

ExportRow = dict[str, Any]

_TRASH = (
    "path", "memory", "size", "deleted_at", "entry", "deleted_by", "actor_kind", "session_name", "session",
    "kept_until",
)  # fmt: skip
_VERSIONS = (
    "number", "version", "operation", "path", "size", "sha256", "created_at", "entry", "by", "actor_kind",
    "session_name", "session", "note", "review_state", "reviewed_by", "reviewed_at", "review_entry", "redacted_at",
)  # fmt: skip
_PART = 200


@require_POST
@in_store(Role.VIEWER)
def trash(request: Request, store: MemoryStore) -> HttpResponse:
    """Download the trash as a table, filtered like the page of the trash."""
    try:
        typed = trash_page.Filter.of(_filters(request), person(request))
        wanted = trash_page.wanted_of(typed, store)
    except Malformed as malformed:
        return HttpResponseBadRequest(str(malformed), content_type="text/plain; charset=utf-8")
    now = timezone.now()
    saved, held = policies.concerning(store.pk), holds_of(store.pk, now)
    matching = (row for row in trash_page.every(store, wanted.search) if trash_page.matches(row, wanted))
    rows = (
        _of_trash(row, due.kept_by(row.memory, saved, held, now), names)
        for part in in_parts(matching, _PART)
        for names in (session_names(row.entry.session for row in part if row.entry),)
        for row in part
    )
    return exported(request, store.pk, "trash", _TRASH, rows, filter=typed.words)


@require_POST
@in_store(Role.VIEWER)
def versions(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    memory = Memory.objects.filter(store=store, pk=memory_id).first()
    if memory is None:
        raise Http404
    rows = _of_versions(memory)
    if not request.role.includes(Role.CURATOR) and masking.cover_of(store.pk, memory.pk):
        rows = (row | {"sha256": None} for row in rows)  # a digest would let a person verify a guess of a masked value
    return exported(request, store.pk, "versions", _VERSIONS, rows, memory=memory.pk, path=memory.path)


@require_POST
@in_store(Role.VIEWER)
def life(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Download the table of a memory's life line."""
    memory = Memory.objects.filter(store=store, pk=memory_id).first()
    line = life_line.of(memory) if memory else None
    if memory is None or line is None:
        raise Http404
    records = [{name: cell.value for name, cell in zip(line.columns, row, strict=True)} for row in line.rows]
    return exported(request, store.pk, "life-line", line.columns, records, memory=memory.pk, path=memory.path)


def _filters(request: Request) -> dict[str, str]:
    return {key: str(request.POST.get(key, "")) for key in ("q", *trash_page.Filter.every_key())}


def _of_trash(row: trash_page.Row, kept: Kept, names: Mapping[str, str]) -> ExportRow:
    """Return a row of the table of the trash. `kept_until` is empty if no policy will remove the memory."""
    memory, entry = row.memory, None if row.origin else row.entry
    return {
        "path": memory.path,
        "memory": memory.pk,
        "size": row.bytes,
        "deleted_at": moment(memory.deleted_at) if memory.deleted_at else None,
        "entry": row.seq,
        "deleted_by": row.origin.label if row.origin else entry and entry.label,
        "actor_kind": row.origin.kind if row.origin else entry and entry.actor_kind,
        "session_name": entry and names.get(entry.session or ""),
        "session": entry and entry.session,
        "kept_until": moment(kept.until) if kept.until else None,
    }


def _of_versions(memory: Memory) -> Iterator[ExportRow]:
    """Yield a memory's versions, newest first."""
    below = memory.version_count + 1
    while part := list(MemoryVersion.objects.of_memory(memory).filter(number__lt=below).newest()[:_PART]):
        seqs = [version.seq for version in part]
        entries = {entry.seq: entry for entry in AuditEntry.objects.of_chain(memory.store_id).of_seqs(seqs)}
        names, decisions = session_names(entry.session for entry in entries.values()), decided(memory.store_id, part)
        imported = origins.of_versions(part)
        yield from (
            _of_version(one, imported.get(one.pk) or entries.get(one.seq), names, decisions.get(one.pk)) for one in part
        )
        below = part[-1].number


def _of_version(
    version: MemoryVersion, by: AuditEntry | Origin | None, names: Mapping[str, str], decision: Review | None
) -> ExportRow:
    """Return a row of the table of versions. `by` is the entry that made the version, or the author of an imported
    version."""
    entry, origin = (None, by) if isinstance(by, Origin) else (by, None)
    return {
        "number": version.number,
        "version": version.pk,
        "operation": version.operation,
        "path": version.path,
        "size": version.size if version.redacted_at is None else None,
        "sha256": version.sha256,
        "created_at": moment(version.created_at),
        "entry": version.seq,
        "by": origin.label if origin else entry and entry.label,
        "actor_kind": origin.kind if origin else entry and entry.actor_kind,
        "session_name": entry and names.get(entry.session or ""),
        "session": entry and entry.session,
        "note": entry and entry.note,
        "review_state": version.review_state,
        "reviewed_by": decision and decision.by and str(decision.by),
        "reviewed_at": decision and moment(decision.at),
        "review_entry": decision and decision.seq,
        "redacted_at": moment(version.redacted_at) if version.redacted_at else None,
    }
