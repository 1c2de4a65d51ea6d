"""The documentation page of the HTTP API, open to everyone."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.web.common.request import Request


@require_safe
def api_docs(request: Request) -> HttpResponse:
    """Show the OpenAPI document as a page, on which readers can send requests with a key of their own."""
    return render(request, "common/api_docs.html")
