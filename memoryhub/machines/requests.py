"""Checks of a request that every endpoint makes, in this order: length, method, key, store, store's length limit,
content type, body."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from time import perf_counter_ns
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from memoryhub.actions.core.transactions import let_others
from memoryhub.actions.memories import calls, refusals
from memoryhub.actions.memories.calls import Caller
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.machines.errors import Problem
from memoryhub.models import Door, MemoryStore
from memoryhub.pure import strict_json

PROVEN = "memoryhub.key"
"""The name in a request's environment under which the id of the agent's key is stored once the key is verified."""

_BODILESS = frozenset(("GET", "HEAD", "DELETE"))
LONGEST_SESSION = 128
LARGE = 65_536
"""The most bytes of a body that is parsed at once. Before a larger one is parsed, other threads may work."""
_VISIBLE = re.compile(r"[!-~]+")
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)


def stopwatch() -> Callable[[], int]:
    """Return a function that returns how many microseconds have passed since `stopwatch` was called."""
    start = perf_counter_ns()
    return lambda: (perf_counter_ns() - start) // 1000


def moment_of(request: HttpRequest) -> datetime:
    """Return when the API's door began to answer the request, whose body is complete by then."""
    moment: datetime = request.moment  # type: ignore[attr-defined]
    return moment


def body_of(request: HttpRequest) -> bytes:
    """Return the body of a request. Raises Problem (413) if the body is larger than the hub's limit."""
    limit = settings.MEMORYHUB_BODY_BYTES
    length = request.META.get("CONTENT_LENGTH") or ""
    if length == "0":
        return b""
    if length.isdecimal():
        if len(length) > 15 or int(length) > limit:
            raise Problem.too_large()
        return request.body
    if request.method in _BODILESS and "HTTP_TRANSFER_ENCODING" not in request.META:
        return b""
    body: bytes = request.environ["wsgi.input"].read(limit + 1)  # type: ignore[attr-defined]
    if len(body) > limit:
        raise Problem.too_large()
    return body


def require_size(body: bytes, caller: Caller) -> None:
    """Raise Problem (413) if the body is larger than the limit of the caller's store.

    Before a body of more than LARGE bytes is parsed, let other threads work.
    """
    limit = settings.MEMORYHUB_LIMITS["body_bytes"] if caller.body_bytes is None else caller.body_bytes
    if limit is not None and len(body) > limit:
        raise Problem.too_large_for_store(limit)
    if len(body) > LARGE:
        let_others()


def require_method(request: HttpRequest, *methods: str) -> None:
    """Raise Problem (405, with the header `Allow`) unless the request has one of these methods."""
    if request.method not in methods:
        raise Problem.method(", ".join(methods))


def caller_of(request: HttpRequest, store_id: str | None, at: datetime, door: Door = Door.TOOL) -> Caller:
    """Return the caller; `store_id` is None if the request names no memory store.

    Raises Problem: 401 without a valid key, 404 if the key does not reach the store. A 404 is audited. A 401 for a key
    that was revoked or has expired is audited, but only once a minute.
    """
    store_id = store_id and store_id.replace("\0", "\ufffd")  # PostgreSQL refuses NUL; no id contains either
    caller = calls.find_caller(secret_of(request), store_id or "", at)
    if caller is None:
        raise no_key(request, store_id or "", at, door)
    request.META[PROVEN] = caller.key
    if store_id is not None and not caller.reaches:
        exists = MemoryStore.objects.filter(pk=store_id).exists()
        why = "the key does not reach the memory store" if exists else "there is no such memory store"
        note_refusal(request, caller, Refusal(store_id, 404, why), door=door, at=at)
        raise Problem.no_store()
    return caller


def no_key(request: HttpRequest, store_id: str, at: datetime, door: Door) -> Problem:
    """Return the error for a request without a valid key.

    For a key that has ended, the error says when, and one such request a minute is audited.
    """
    ended = refusals.of_ended_key(secret_of(request), at)
    if ended is None:
        return Problem.no_key()
    caller, how = ended
    if refusals.is_due_for_ended(caller.key):
        note_refusal(request, caller, Refusal(store_id or request.path, 401, how), door=door, at=at)
    return Problem.no_key(how)


def note_refusal(request: HttpRequest, caller: Caller, refusal: Refusal, *, door: Door, at: datetime) -> None:
    """Record a refused request of a valid key in the hub's audit, with the session that the request's header names."""
    try:
        session = session_of(request)
    except Problem:
        session = None
    refusals.note(caller, replace(refusal, session=session), door=door, at=at)


def secret_of(request: HttpRequest) -> str:
    """Return the key in a request's headers, or "" without a key. A Bearer token wins over `x-api-key`."""
    return secret_in(request.META)


def secret_in(meta: Mapping[str, Any]) -> str:
    """Return the key in the headers of a WSGI environment, or "" without a key. A Bearer token wins over
    `x-api-key`."""
    scheme, _, token = str(meta.get("HTTP_AUTHORIZATION", "")).strip().partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return str(meta.get("HTTP_X_API_KEY", "")).strip()


def json_of(request: HttpRequest, body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises Problem: 415 for a compressed body or a content type other than JSON, 400 if the body is no JSON object.
    """
    require_plain(request)
    if not _JSON_TYPE.fullmatch(request.META.get("CONTENT_TYPE") or ""):
        raise Problem.invalid("The content type must be application/json.", 415)
    try:
        value = strict_json.loads(body, is_request=True)
    except strict_json.Malformed as error:
        raise Problem.invalid(str(error)) from None
    if not isinstance(value, dict):
        raise Problem.invalid("The body must be a JSON object.")
    return value


def require_plain(request: HttpRequest) -> None:
    """Raise Problem (415) if the body is compressed."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() not in ("", "identity"):
        raise Problem.invalid("Compressed bodies are not accepted: send it without Content-Encoding.", 415)


def session_of(request: HttpRequest) -> str | None:
    """Return the agent's name for its session; None without the header. Raises Problem (400) for an invalid name."""
    return visible_header(request, "Memoryhub-Session", LONGEST_SESSION)


def visible_header(request: HttpRequest, name: str, longest: int) -> str | None:
    """Return the value of a header; None if it is absent. Raises Problem (400) unless the value has 1 to `longest`
    visible ASCII characters."""
    value = request.META.get("HTTP_" + name.upper().replace("-", "_"))
    if value is None:
        return None
    if len(value) > longest or not _VISIBLE.fullmatch(value):
        raise Problem.invalid(f"The header {name} must have 1 to {longest} visible ASCII characters.")
    return str(value)
