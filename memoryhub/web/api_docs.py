"""The page of the machines' API, for people who write programs against it: anybody may open it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document as a page; a request can be tried on it with a key that the reader brings."""
    return render(request, "api/docs.html")
