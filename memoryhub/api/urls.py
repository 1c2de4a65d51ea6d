"""The addresses of the machines' door, beneath /v1/."""

import os

from django.http import HttpRequest, JsonResponse
from django.urls import path

from memoryhub.api.tool_calls import tool_calls


def trivial(request: HttpRequest) -> JsonResponse:
    """What the benchmarks compare with: the same way in and out, and nothing between."""
    return JsonResponse({"ok": True})


urlpatterns = [
    path("memory_stores/<str:memory_store_id>/tool_calls", tool_calls, name="tool_calls"),
]

if os.environ.get("MEMORYHUB_BENCHMARK"):
    urlpatterns.append(path("benchmark/trivial", trivial))
