"""The pages of a request that cannot be answered; to htmx a part for the page's alert region."""

import sys
from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.actions.core.availability import is_unavailable
from memoryhub.actions.core.disk_space import DiskFull


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "403.html", status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "404.html", status=404)


def wrong_method(request: HttpRequest, allow: str) -> HttpResponse:
    """For an address that only answers other methods, with the pages from which its forms are sent."""
    answer = render(request, "405.html", {"ways_on": _ways_on(request)}, status=405)
    answer.headers["Allow"] = allow
    return answer


def _ways_on(request: HttpRequest) -> Sequence[tuple[str, str]]:
    """Links to the memory and the store that the address names, and to the beginning."""
    parts = request.resolver_match.kwargs if request.resolver_match else {}
    ways = []
    if "store_id" in parts and "memory_id" in parts:
        ways.append((reverse("memory", args=[parts["store_id"], parts["memory_id"]]), _("To the memory")))
    if "store_id" in parts:
        ways.append((reverse("store", args=[parts["store_id"]]), _("To the memory store")))
    return [*ways, (reverse("stores"), _("To the memory stores"))]


def failed(request: HttpRequest) -> HttpResponse:
    """503, with a sentence of its own, where it is the database that does not answer or takes no writes now."""
    if isinstance(sys.exception(), DiskFull):
        return render(request, "disk_full.html", status=503)
    if not is_unavailable(sys.exception()):
        return render(request, "500.html", status=500)
    response = render(request, "503.html", status=503)
    response.headers["Retry-After"] = "1"
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return render(request, "csrf_failure.html", status=403)
