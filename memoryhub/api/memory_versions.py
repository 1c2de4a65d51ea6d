"""Memory versions at the machines' door: redaction, for a key that may manage the memory store."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from memoryhub import chain
from memoryhub.actions import access, redaction
from memoryhub.actions.audit import Act
from memoryhub.actions.calls import Caller
from memoryhub.actions.tree import NoSuchStore
from memoryhub.api import requests
from memoryhub.api.errors import Problem
from memoryhub.models import Access, AuditEntry, Door, MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.protocol.errors import ToolError

Json = dict[str, Any]


def redact(request: HttpRequest, memory_store_id: str, memory_version_id: str) -> HttpResponse:
    """POST /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/redact"""
    elapsed = requests.stopwatch()
    body = requests.body_of(request)
    requests.require_method(request, "POST")
    at = timezone.now()
    caller = requests.caller_of(request, memory_store_id, at, Door.API)
    _require_manage(request, caller, memory_store_id, at)
    requests.require_size(body, caller)
    if body:
        requests.json_of(request, body)
    version = _version(memory_store_id, memory_version_id)
    act = Act(caller.actor, Door.API, at, elapsed=elapsed)
    try:
        redaction.redact_version(memory_store_id, version.pk, act)
    except ToolError as error:
        raise Problem.invalid(error.message.removeprefix("Error: ")) from None
    except NoSuchStore:
        raise Problem.no_store() from None
    return JsonResponse(as_json(_version(memory_store_id, version.pk)))


def _require_manage(request: HttpRequest, caller: Caller, store_id: str, at: datetime) -> None:
    """403, noted in the hub's audit, for a key with less access, and for any request that names a session."""
    if not caller.access.includes(Access.MANAGE):
        why = "Redacting a memory version needs a key with `manage` access."
    elif "HTTP_MEMORYHUB_SESSION" in request.META:
        why = "A request with a session cannot redact."
    else:
        return
    access.note_refusal(caller, store_id, 403, door=Door.API, at=at)
    raise Problem.forbidden(why)


def _version(store_id: str, version_id: str) -> MemoryVersion:
    """A version of the store with its text, else 404."""
    clean = version_id.replace("\0", "\ufffd")  # PostgreSQL refuses NUL; no version has either in its id
    found = MemoryVersion.objects.filter(store_id=store_id, pk=clean).select_related("text").first()
    if found is None:
        raise Problem(404, "not_found_error", "This memory store has no such memory version.")
    return found


def as_json(version: MemoryVersion) -> Json:
    """A version in its full view; nothing of its text is there once it is redacted, but who wrote it and when is."""
    is_redacted = version.redacted_at is not None
    seqs = [seq for seq in (version.seq, version.redacted_seq) if seq is not None]
    entries = {entry.seq: entry for entry in AuditEntry.objects.of_chain(version.store_id).of_seqs(seqs).in_brief()}
    return {
        "type": "memory_version",
        "id": version.pk,
        "memory_store_id": version.store_id,
        "memory_id": version.memory_id,
        "operation": version.operation,
        "path": None if is_redacted else version.path,
        "content": None if is_redacted else version.content,
        "content_sha256": None if is_redacted else version.sha256,
        "content_size_bytes": None if is_redacted else version.size,
        "created_at": chain.moment(version.created_at),
        "created_by": actor(entries.get(version.seq)),
        "redacted_at": chain.moment(version.redacted_at) if version.redacted_at else None,
        "redacted_by": actor(entries.get(version.redacted_seq or 0)) if is_redacted else None,
    }


def actor(entry: AuditEntry | None) -> Json | None:
    """Whoever made an entry; null where the hub itself did, or where the entry has been removed."""
    if entry is None or entry.actor_id is None:
        return None
    if entry.actor_kind == ActorKind.USER:
        return {"type": "user_actor", "user_id": entry.actor_id}
    if entry.actor_kind == ActorKind.POLICY:
        return {"type": "service_account_actor", "service_account_id": entry.actor_id}
    if entry.session is not None:
        return {"type": "session_actor", "session_id": entry.session}
    return {"type": "api_actor", "api_key_id": entry.actor_id}
