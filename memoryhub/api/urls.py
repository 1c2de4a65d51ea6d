"""The addresses of the machines' door, beneath /v1/."""

import os

from django.http import HttpRequest, JsonResponse
from django.urls import path

from memoryhub.api.app import ENDPOINTS


def trivial(request: HttpRequest) -> JsonResponse:
    """What the benchmarks compare with: the same way in and out, and nothing between."""
    return JsonResponse({"ok": True})


urlpatterns = [
    path(address.replace("{", "<str:").replace("}", ">"), endpoint, name=endpoint.name)
    for address, endpoint in ENDPOINTS.items()
]

if os.environ.get("MEMORYHUB_BENCHMARK"):
    urlpatterns.append(path("benchmark/trivial", trivial))
