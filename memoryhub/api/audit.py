"""Audit entries in the API."""

import json
from datetime import MAXYEAR, datetime, timedelta

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.memories import api
from memoryhub.actions.verification.entries import Search
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.further import AuditEntryObject, EntryPage, ListEntries
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, AuditEntry
from memoryhub.models.audit import LAST_SEQ
from memoryhub.pure import chain
from memoryhub.pure.text import keeping

router = Router()

ENTRIES = "/memory_stores/{memory_store_id}/audit_entries"
MOST_LOOKED_AT = 5_000
"""The most entries that are scanned for one page."""

MOST_FULL = 20
SAME = (
    "seq", "actor_kind", "actor_id", "author_id", "label", "session", "door", "command", "path", "new_path", "memory",
    "version", "ok", "duration", "group", "token", "replay_of", "note", "first_line", "last_line", "cut", "digest",
    "key_name", "previous_hash", "hash",
)  # fmt: skip


@router.get(
    ENTRIES, auth=needs(Access.MANAGE, whole=True), response=answers(EntryPage, 429), summary="List audit entries"
)
def list_audit_entries(request: HttpRequest, memory_store_id: str, query: Query[ListEntries]) -> Json:
    """The entries of the memory store's chain, newest first. With several filters a request scans at most 5,000
    entries: continue while `next_page` is not null, even after a page without entries."""
    api.note_call(memory_store_id, call_of(request).asked)
    limit = min(query.limit, MOST_FULL) if query.view == "full" else query.limit
    filters = {"store": memory_store_id} | query.model_dump(exclude={"limit", "page", "view"}, mode="json")
    key = cursors.decode("audit_entries", filters, query.page, (int,))
    high = LAST_SEQ if key is None else key[0] - 1
    look = _search(query).look(memory_store_id, 1, high, limit + 1, most=MOST_LOOKED_AT)
    shown = look.entries[:limit]
    last = shown[-1].seq if len(look.entries) > limit else look.reached
    return {
        "data": _whole(memory_store_id, shown) if query.view == "full" else [as_json(entry) for entry in shown],
        "next_page": None if last is None else cursors.encode("audit_entries", filters, [last]),
    }


@router.get(
    ENTRIES + "/{seq}", auth=needs(Access.MANAGE, whole=True), response=answers(AuditEntryObject, 429),
    summary="Retrieve an audit entry",
)  # fmt: skip
def retrieve_audit_entry(request: HttpRequest, memory_store_id: str, seq: str) -> Json:
    """One entry with its input, its message and its hash, which covers the previous entry."""
    api.note_call(memory_store_id, call_of(request).asked)
    number = int(seq) if seq.isascii() and seq.isdecimal() and len(seq) <= 18 else 0
    entry = AuditEntry.objects.of_chain(memory_store_id).filter(seq=number).first()
    if entry is None:
        raise Problem.not_found("The chain of this memory store has no such audit entry.")
    return as_json(entry, full=True)


def _search(query: ListEntries) -> Search:
    """Return the search in the audit that a request's query asks for."""
    return Search(
        author=query.actor_id,
        session=query.session_id,
        command=query.command,
        path=query.path,
        door=None if query.door is None else query.door.value,
        ok=None if query.outcome is None else query.outcome == "ok",
        memory=query.memory_id,
        start=query.created_at_gte,
        end=_after(query.created_at_lte),
    )


def _after(last: datetime | None) -> datetime | None:
    """Return the moment just after `last`. None if `last` is None or in the last year of the calendar."""
    if last is None or last.year == MAXYEAR:
        return None
    return last + timedelta(microseconds=1)


def _whole(store_id: str, entries: list[AuditEntry]) -> list[Json]:
    """Read entries again, now with their long columns, and return them as JSON, newest first."""
    found = AuditEntry.objects.of_chain(store_id).of_seqs(entry.seq for entry in entries).newest()
    return [as_json(entry, full=True) for entry in found]


def as_json(entry: AuditEntry, *, full: bool = False) -> Json:
    """Return an entry as JSON. Most JSON keys have the names of the entry's columns. `input` and `message` are null
    unless `full` is true."""
    same = {name: getattr(entry, name) for name in SAME}
    given, size = keeping.parts(_value(entry.input) if full else None)
    return {
        "type": "audit_entry",
        "memory_store_id": entry.chain,
        "at": chain.moment(entry.at),
        "input": given,
        "input_in_part": None if size is None else {"size_bytes": size},
        "message": _value(entry.message) if full else None,
        **same,
    }


def _value(text: str | None) -> object:
    return None if text is None else json.loads(text)
