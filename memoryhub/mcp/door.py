"""The MCP door over HTTP: one POST carries one message, and the answer is one JSON object or empty."""

import logging
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memoryhub.actions.core.hub.availability import is_unavailable
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.transactions import my_turn
from memoryhub.actions.memories import key_stores
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.machines import requests
from memoryhub.machines.errors import Problem, log_refusal
from memoryhub.mcp import messages, methods, versions
from memoryhub.mcp.messages import INTERNAL_ERROR, INVALID_REQUEST, RATE_LIMITED, Message, Refused
from memoryhub.mcp.methods import Incoming
from memoryhub.models import Door
from memoryhub.pure import ids, request_ids

PREFIX = "/mcp"
CONNECTION = "Mcp-Session-Id"
LONGEST_IDEMPOTENCY_KEY = 255
LIMITS = (429, 507)
"""The statuses of limits that are reached: of calls, and of the audit's bytes."""
TAKEN = frozenset(("application/json", "application/*", "*/*"))

logger = logging.getLogger(__name__)


def is_here(path: str) -> bool:
    """Return whether an address belongs to this door."""
    return path == PREFIX or path.startswith(PREFIX + "/")


def answer(request: HttpRequest) -> HttpResponse:
    """Return the answer to a message, or an error of JSON-RPC; cookies are ignored."""
    request_id = ids.new_id(ids.REQUEST, timezone.now())
    request_ids.current.set(request_id)
    request_ids.trace.set(request.headers.get("traceparent", "") if settings.MEMORYHUB_SPANS else None)
    try:
        with connection.wrap_database_errors:  # tool calls use the driver directly
            response = _answer(request)
    except (Refused, Problem) as refused:
        response = _refusal(None, refused)
    except RequestDataTooBig:
        response = _refusal(None, Problem.too_large())
    except DiskFull:
        response = _refusal(None, Problem.disk_full())
    except Exception as error:
        response = _refusal(None, _failure(error, request_id))
    response.headers["request-id"] = request_id
    log_refusal(request, response, request_id)
    response.headers["Content-Length"] = str(len(response.content))
    return response


def refusal(problem: Problem) -> HttpResponse:
    """Return the answer to a message that was refused before it was read."""
    response = _refusal(None, problem)
    response.headers["request-id"] = ids.new_id(ids.REQUEST, timezone.now())
    return response


def _answer(request: HttpRequest) -> HttpResponse:
    """Return the answer to a message, after checks in this order: address, length, method, origin, key, store, store's
    length limit, headers, message."""
    elapsed = requests.stopwatch()
    named = _store_named(request.path_info)
    body = requests.body_of(request)
    requests.require_method(request, "POST")
    _require_own_origin(request)
    at = timezone.now()
    with my_turn():
        store_id = _only_store(request, at) if named is None else named
        caller = requests.caller_of(request, store_id, at, Door.MCP)
        requests.require_size(body, caller)
        requests.require_plain(request)
        _require_json(request)
        message = messages.read(body)
        if message.is_response:
            return _accepted()
        asked = Asked(caller, Door.MCP, at, _session_of(request), elapsed)
        return _answer_to(request, message, store_id, asked)


def _accepted() -> HttpResponse:
    """Return the answer to a message that expects none: no body, and so no content type."""
    response = HttpResponse(status=202)
    del response.headers["Content-Type"]
    return response


def _failure(error: Exception, request_id: str) -> Refused:
    """Log an unexpected error with the request's id. Return the error with which to answer."""
    if is_unavailable(error):
        logger.error("The database did not answer %s", request_id, exc_info=error)
        unanswered = Refused(INTERNAL_ERROR, "The database did not answer; try again.", 503)
        unanswered.headers["Retry-After"] = "1"
        return unanswered
    logger.error("Request %s failed", request_id, exc_info=error)
    return Refused(INTERNAL_ERROR, "The hub failed to answer; its log says why.", 500)


def _answer_to(request: HttpRequest, message: Message, store_id: str, asked: Asked) -> HttpResponse:
    """Answer a notification with 202, and a request with its result or its error, under the request's id."""
    try:
        version = versions.version_of(request.headers, message)
        if message.id is None:
            return _accepted()
        key = requests.visible_header(request, "Idempotency-Key", LONGEST_IDEMPOTENCY_KEY)
    except (Refused, Problem) as refused:
        return _refusal(message.id, refused)
    incoming = Incoming(message, version, store_id, asked, key)
    try:
        value = methods.call(incoming)
    except Refused as refused:
        refused.status = versions.status_of(refused, version)
        return _refusal(message.id, refused)
    except Problem as problem:
        return _not_run(request, message.id, problem, version)
    response = HttpResponse(messages.result(message.id, value), content_type="application/json")
    if session := methods.session_begun(incoming):
        response.headers[CONNECTION] = session
    return response


def _not_run(request: HttpRequest, id: str | int, problem: Problem, version: str) -> HttpResponse:
    """Return the answer to a request that was not run, and log it. A limit has the status of an error of a method; a
    key that has ended always has 401."""
    response = _refusal(id, problem)
    log_refusal(request, response, request_ids.current.get())
    if problem.status in LIMITS:
        response.status_code = versions.status_of(_as_refused(problem), version)
    return response


def _session_of(request: HttpRequest) -> str | None:
    """Return the name of the agent's session: the one that the agent chose, or else the id of the connection's
    session."""
    given = requests.session_of(request)
    return requests.visible_header(request, CONNECTION, requests.LONGEST_SESSION) if given is None else given


def _store_named(path: str) -> str | None:
    """Return the memory store in an address; None if it has none. Raises Refused (404) if more follows the store."""
    name = path[len(PREFIX) :].strip("/")
    if "/" in name:
        raise Refused(INVALID_REQUEST, "There is nothing at this address.", 404)
    return name or None


def _only_store(request: HttpRequest, at: datetime) -> str:
    """Return the only memory store that the key reaches.

    Raises Problem if the request has no valid key, or if the key reaches no memory store; Refused if the key reaches
    several.
    """
    stores = key_stores.stores_of(requests.secret_of(request), at)
    if stores is None:
        raise requests.no_key(request, "", at, Door.MCP)
    if not stores:
        raise Problem.no_store()
    if len(stores) > 1:
        raise Refused(INVALID_REQUEST, "This key reaches several memory stores: use /mcp/{memory_store_id}.")
    return stores[0]


def _require_own_origin(request: HttpRequest) -> None:
    """Raise Refused (403) for a request from a web page of another origin, which may have tricked a browser into
    sending it."""
    origin = request.META.get("HTTP_ORIGIN")
    hub = urlsplit(settings.MEMORYHUB_URL)
    if origin is not None and origin.lower() != f"{hub.scheme}://{hub.netloc}".lower():
        raise Refused(INVALID_REQUEST, "Requests from pages of another origin are refused.", 403)


def _require_json(request: HttpRequest) -> None:
    """Raise Refused: 406 if the client does not accept JSON, 415 if the body's content type is not JSON."""
    accept = request.META.get("HTTP_ACCEPT")
    if accept is not None and not TAKEN.intersection(_kinds(accept)):
        raise Refused(INVALID_REQUEST, "The answer is application/json, which `Accept` does not name.", 406)
    if next(_kinds(request.META.get("CONTENT_TYPE") or "")) != "application/json":
        raise Refused(INVALID_REQUEST, "The content type must be application/json.", 415)


def _kinds(header: str) -> Iterator[str]:
    return (part.partition(";")[0].strip().lower() for part in header.split(","))


def _as_refused(problem: Problem) -> Refused:
    """Return a Problem as an error of JSON-RPC, whose `data` contains the API's error type."""
    data: messages.Json = {"type": problem.type}
    if problem.status != 429:
        return Refused(INVALID_REQUEST, problem.message, problem.status, data=data, headers=problem.headers)
    data |= {"retry_after": int(problem.headers["Retry-After"])}
    return Refused(RATE_LIMITED, problem.message, problem.status, data=data, headers=problem.headers)


def _refusal(id: str | int | None, error: Refused | Problem) -> HttpResponse:
    refused = _as_refused(error) if isinstance(error, Problem) else error
    return HttpResponse(
        messages.error(id, refused), status=refused.status, content_type="application/json", headers=refused.headers
    )
