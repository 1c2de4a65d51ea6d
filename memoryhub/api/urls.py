"""The addresses of the machines' door, beneath /v1/."""

import os

from django.http import HttpRequest, JsonResponse
from django.urls import path

from memoryhub.api import memory_versions
from memoryhub.api.tool_calls import tool_calls


def trivial(request: HttpRequest) -> JsonResponse:
    """What the benchmarks compare with: the same way in and out, and nothing between."""
    return JsonResponse({"ok": True})


urlpatterns = [
    path("memory_stores/<str:memory_store_id>/tool_calls", tool_calls, name="tool_calls"),
    path(
        "memory_stores/<str:memory_store_id>/memory_versions/<str:memory_version_id>/redact",
        memory_versions.redact,
        name="redact_memory_version",
    ),
]

if os.environ.get("MEMORYHUB_BENCHMARK"):
    urlpatterns.append(path("benchmark/trivial", trivial))
