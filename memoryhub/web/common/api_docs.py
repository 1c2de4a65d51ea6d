"""The page of the machines' API, for people who write programs against it: anybody may open it."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.web.common.request import Request


@require_safe
def api_docs(request: Request) -> HttpResponse:
    """The OpenAPI document as a page; a request can be tried on it with a key that the reader brings."""
    return render(request, "common/api_docs.html")
