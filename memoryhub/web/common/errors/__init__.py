"""Error pages; a request by htmx gets a fragment for the alert region of its page instead."""

import sys
from collections.abc import Sequence

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views import defaults

from memoryhub.actions.core.hub.availability import is_unavailable
from memoryhub.actions.core.hub.disk_space import DiskFull


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400. The page explains the error only if a form was too large."""
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        return render(request, "common/errors/form_too_large.html", status=400)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "common/errors/forbidden.html", status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "common/errors/not_found.html", status=404)


def wrong_method(request: HttpRequest, allow: str) -> HttpResponse:
    """Answer 405, with links to pages on which the person can continue."""
    answer = render(request, "common/errors/wrong_method.html", {"ways_on": _ways_on(request)}, status=405)
    answer.headers["Allow"] = allow
    return answer


def _ways_on(request: HttpRequest) -> Sequence[tuple[str, str]]:
    """Return (URL, label) of the memory and the store in the address, and of the list of memory stores."""
    parts = request.resolver_match.kwargs if request.resolver_match else {}
    ways = []
    if "store_id" in parts and "memory_id" in parts:
        ways.append((reverse("memory", args=[parts["store_id"], parts["memory_id"]]), _("To the memory")))
    if "store_id" in parts:
        ways.append((reverse("store", args=[parts["store_id"]]), _("To the memory store")))
    return [*ways, (reverse("stores"), _("To the memory stores"))]


def failed(request: HttpRequest) -> HttpResponse:
    """Answer 500, or 503 if the database is unavailable or the disk is full."""
    if isinstance(sys.exception(), DiskFull):
        return render(request, "common/errors/disk_full.html", status=503)
    if not is_unavailable(sys.exception()):
        return render(request, "common/errors/failed.html", status=500)
    response = render(request, "common/errors/unavailable.html", status=503)
    response.headers["Retry-After"] = "1"
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return render(request, "common/errors/csrf_failure.html", status=403)
