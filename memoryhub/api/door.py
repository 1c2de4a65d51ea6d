"""The API's door. It answers requests under /v1; every error is JSON in one envelope."""

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import resolve
from django.utils import timezone

from memoryhub.actions.core.hub.availability import is_unavailable
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.core.transactions import require_own_thread
from memoryhub.api import audit
from memoryhub.api.app import find
from memoryhub.machines.errors import Problem, log_refusal
from memoryhub.pure import ids, request_ids

PREFIX = "/v1/"

logger = logging.getLogger(__name__)


def is_here(path: str) -> bool:
    """Return whether an address belongs to this door."""
    return path.startswith(PREFIX) or path == PREFIX[:-1]


def answer(request: HttpRequest) -> HttpResponseBase:
    """Return the answer of the operation at the request's address, or an error in the envelope. Cookies are ignored."""
    at = request.moment = timezone.now()  # type: ignore[attr-defined]
    request_id = ids.new_id(ids.REQUEST, at)
    request_ids.current.set(request_id)
    request_ids.trace.set(request.headers.get("traceparent", "") if settings.MEMORYHUB_SPANS else None)
    response: HttpResponseBase
    try:
        view, ids_of_path = find(request.path_info[len(PREFIX) :]) or _resolved(request.path_info)
        with connection.wrap_database_errors:  # tool calls use the driver directly
            response = view(request, **ids_of_path)
    except Problem as problem:
        response = envelope(problem, request_id)
    except Http404:
        response = envelope(Problem(404, "not_found_error", _nothing_at(request.path_info)), request_id)
    except RequestDataTooBig:
        response = envelope(Problem.too_large(), request_id)
    except DiskFull:
        response = envelope(Problem.disk_full(), request_id)
    except Exception as error:
        response = envelope(_failure(error, request_id), request_id)
    response.headers["request-id"] = request_id
    if isinstance(response, HttpResponse):
        log_refusal(request, response, request_id)
        response.headers["Content-Length"] = str(len(response.content))
    return response


def _nothing_at(path: str) -> str:
    """Return the message for an address that does not exist. For an address that ends with `audit`, it says where the
    audit is."""
    if path.rstrip("/").rpartition("/")[2] == "audit":
        address = PREFIX.rstrip("/") + audit.ENTRIES
        return (
            f"There is nothing at this address. The audit of a memory store is at {address}, for keys that manage it."
        )
    return "There is nothing at this address."


def _failure(error: Exception, request_id: str) -> Problem:
    """Log an unexpected error with the request's id. Return the Problem with which to answer."""
    require_own_thread(error)
    if is_unavailable(error):
        logger.error("The database did not answer %s", request_id, exc_info=error)
        message = "The database did not answer; try again."
        return Problem(503, "overloaded_error", message, headers={"Retry-After": "1"})
    logger.error("Request %s failed", request_id, exc_info=error)
    return Problem(500, "api_error", "The hub failed to answer; its log says why.")


@lru_cache(maxsize=64)
def _resolved(path: str) -> tuple[Callable[..., Any], dict[str, str]]:
    """Return the view and arguments of an address outside the API's operations; raises Http404."""
    match = resolve(path)
    return match.func, match.kwargs


def refusal(problem: Problem) -> HttpResponse:
    """Return the response with `problem`, for a request that was refused before an endpoint got it."""
    request_id = ids.new_id(ids.REQUEST, timezone.now())
    response = envelope(problem, request_id)
    response.headers["request-id"] = request_id
    return response


def envelope(problem: Problem, request_id: str) -> HttpResponse:
    """Return an error in the envelope that every endpoint uses."""
    body: dict[str, Any] = {
        "type": "error",
        "error": {"type": problem.type, "message": problem.message, **problem.details},
        "request_id": request_id,
    }
    return JsonResponse(body, status=problem.status, headers=problem.headers)
