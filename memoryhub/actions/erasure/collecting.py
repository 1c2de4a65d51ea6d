"""Collects the data about a person in a store, for a copy that the person asked for. Only an audit entry is written.

The same places are searched as for an erasure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.erasure import elsewhere as around, places
from memoryhub.actions.erasure.places import Terms
from memoryhub.models import AuditEntry, MemoryText, MemoryVersion, SavedView
from memoryhub.pure import chain
from memoryhub.pure.transfer.written import JsonRow

_OWN = (*places.GROWING, *places.PLAIN, *places.PLAIN_JSON, *places.COPIES)


def begin(store_id: str, terms: Sequence[str], found: int, act: Act) -> int:
    """Write the entry of the collection, and return its seq. Call it before any text is handed out.

    The entry has the number of the `terms`, and how many places contain one of them (`found`), but no text. Raises
    tree.NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        return tree.commit(store, Record("collect", input=audit.to_json({"texts": len(terms), "places": found})))


def collect(store_id: str, terms: Sequence[str], user_id: str, *, whole_hub: bool) -> Iterator[JsonRow]:
    """Yield every value that contains one of the `terms`: the value, its kind, its column, its memory and its author.

    With `whole_hub`, rows that the store shares with other stores are collected too. If a saved view is private and
    does not belong to the person `user_id`, its text is left out.
    """
    if not terms:
        return
    wanted = Terms(terms)
    for place in _OWN:
        for row, column in place.having(store_id, wanted):
            yield {**_json_row(place.kind, row, column), **_whose(store_id, row)}
    for store in places.path_rules(store_id, wanted):
        yield _json_row("path_rules", store, "path_rules")
    for session in places.sessions(store_id, wanted, whole_hub=whole_hub):
        yield _json_row("session", session, "name")
    for view in places.saved_views(store_id, wanted, whole_hub=whole_hub):
        yield _of_view(view, user_id)


def collect_elsewhere(store_id: str, subject: Sequence[str], *, whole_hub: bool) -> Iterator[JsonRow]:
    """Yield each text that contains a spelling of one of the texts `subject` and that an erasure does not change."""
    for one in around.elsewhere(store_id, subject, whole_hub=whole_hub):
        yield {"kind": one.kind, "id": one.id, "what": one.what, "text": one.text}


def _json_row(kind: str, row: Any, column: str) -> JsonRow:
    id = row.seq if isinstance(row, AuditEntry) else row.pk
    return {"kind": kind, "id": str(id), "what": column, "text": getattr(row, column)}


def _of_view(view: SavedView, user_id: str) -> JsonRow:
    is_seen = view.is_shared or view.owner_id == user_id
    text = f"{view.name}: {unquote_plus(view.query)}" if is_seen else None
    return {"kind": "view", "id": str(view.pk), "what": "query", "text": text}


def _whose(store_id: str, row: Any) -> Mapping[str, object]:
    """Return the memory, the versions, the time and the author of a row, as far as the row has them."""
    if isinstance(row, AuditEntry):
        return {"memory": row.memory, "path": row.path, "command": row.command, **_done(row)}
    if isinstance(row, MemoryText):
        versions = MemoryVersion.objects.filter(store_id=store_id, memory_id=row.memory_id, text_id=row.pk)
        return {"memory": row.memory_id, "versions": [_version(one) for one in versions.order_by("number")]}
    if isinstance(row, MemoryVersion):
        # Its path has one of the texts, so the text at this path is about the person too.
        return {"memory": row.memory_id, "versions": [_version(row)], "content": row.content}
    at = getattr(row, "created_at", None)
    return {"memory": getattr(row, "memory_id", None), "at": chain.moment(at) if at else None}


def _version(version: MemoryVersion) -> JsonRow:
    entry = AuditEntry.objects.of_chain(version.store_id).filter(seq=version.seq).first()
    brought = {"origin": version.origin} if version.origin else {}
    made = {"id": version.pk, "number": version.number, "path": version.path}
    return {**made, "at": chain.moment(version.created_at), "by": entry.label if entry else None, **brought}


def _done(entry: AuditEntry) -> JsonRow:
    return {"at": chain.moment(entry.at), "by": entry.label, "session": entry.session}
