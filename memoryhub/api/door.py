"""The machines' door: every answer under /v1 is JSON in one envelope with a request id."""

import logging
from functools import lru_cache
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import ResolverMatch, resolve
from django.utils import timezone

from memoryhub import ids
from memoryhub.api.errors import Problem

PREFIX = "/v1/"

logger = logging.getLogger(__name__)


def answer(request: HttpRequest) -> HttpResponse:
    """The view's answer, or the envelope of what went wrong; a cookie means nothing here."""
    request_id = ids.new_id(ids.REQUEST, timezone.now())
    try:
        match = _match(request.path_info)
        with connection.wrap_database_errors:  # the tool's path asks the driver itself
            response = match.func(request, *match.args, **match.kwargs)
    except Problem as problem:
        response = envelope(problem, request_id)
    except Http404:
        response = envelope(Problem(404, "not_found_error", "There is nothing at this address."), request_id)
    except RequestDataTooBig:
        response = envelope(Problem.too_large(), request_id)
    except (OperationalError, InterfaceError):
        logger.exception("The database did not answer %s", request_id)
        response = envelope(Problem(503, "overloaded_error", "The database did not answer; try again."), request_id)
        response.headers["Retry-After"] = "1"
    except Exception:
        logger.exception("Request %s failed", request_id)
        response = envelope(Problem(500, "api_error", "The hub failed to answer; its log says why."), request_id)
    response.headers["request-id"] = request_id
    if not response.streaming:
        response.headers["Content-Length"] = str(len(response.content))
    return response


@lru_cache(maxsize=512)
def _match(path: str) -> ResolverMatch:
    """The view of an address: agents ask for the same few again and again, and finding it costs 50 microseconds."""
    return resolve(path)


def envelope(problem: Problem, request_id: str) -> HttpResponse:
    """The error as every endpoint says it."""
    body: dict[str, Any] = {
        "type": "error",
        "error": {"type": problem.type, "message": problem.message},
        "request_id": request_id,
    }
    return JsonResponse(body, status=problem.status, headers=problem.headers)
