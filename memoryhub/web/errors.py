"""The pages of a request that cannot be answered; to htmx a part for the page's alert region."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.actions.disk_space import DiskFull


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "403.html", status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "404.html", status=404)


def failed(request: HttpRequest) -> HttpResponse:
    if isinstance(sys.exception(), DiskFull):
        return render(request, "disk_full.html", status=503)
    return render(request, "500.html", status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return render(request, "csrf_failure.html", status=403)
