"""The answers to requests that do not reach Django, in the format of each door."""

from django.http import HttpResponse
from django.utils.translation import gettext as _

from memoryhub.doors import door_at
from memoryhub.machines.errors import Problem

BUSY = 503, "overloaded_error", "The hub has more requests in hand than it can answer; try again in a moment."
STOPPING = 503, "overloaded_error", "The hub is being stopped; try again in a moment."
NO_ROOM = 503, "overloaded_error", "There is not enough disk space for the answer; try again later."
NO_DATABASE = 503, "overloaded_error", "The database did not answer; try again."
TOO_MUCH = (
    413,
    "request_too_large",
    "This was more work than the hub does in one request, so it was stopped, and nothing was changed.",
)
"""The refusal of a request that was stopped. It is no error of the server, because programs would repeat the request,
with as much work."""
STOPPED_LATE = (
    413,
    "request_too_large",
    "This was more work than the hub does in one request, so it was stopped. See what was done before you ask again.",
)
"""The refusal of a request that was stopped after it had committed something."""
FAILED = 500, "api_error", "The hub failed to answer; its log says why."
SLOW = 408, "timeout_error", "The body of the request came too slowly."
BROKEN = 400, "invalid_request_error", "The body of the request is incomplete."
LARGE_HEADERS = 431, "invalid_request_error", "The headers of the request are larger than 32 KB."

Reason = tuple[int, str, str]


def refusal(path: str, reason: Reason) -> HttpResponse:
    """Return the answer to a request that is not read or not run, for one of the reasons of this module."""
    status, type, message = reason
    problem = Problem(status, type, message, {"Retry-After": "1"} if status == 503 else None)
    if door := door_at(path):
        return door.refusal(problem)
    content = _for_people(reason)
    return HttpResponse(content, status=status, headers=problem.headers, content_type="text/plain; charset=utf-8")


def _for_people(reason: Reason) -> str:
    sentences = {
        SLOW: _("The request came too slowly. Try again."),
        TOO_MUCH: _("This was more work than the hub does in one request, so it was stopped, and nothing was changed."),
        STOPPED_LATE: _(
            "This was more work than the hub does in one request, so it was stopped. See what was done before you try"
            " again."
        ),
        LARGE_HEADERS: _(
            "The request has too many or too large headers. Delete the cookies of this address, then try again."
        ),
        FAILED: _("The hub failed to answer. Its log says why."),
        BROKEN: _("The request is incomplete."),
    }
    return sentences.get(reason, _("The hub is busy. Try again in a moment."))
