"""The API's addresses under /v1/."""

import os

from django.http import HttpRequest, JsonResponse
from django.urls import path

from memoryhub.api.app import ENDPOINTS


def trivial(request: HttpRequest) -> JsonResponse:
    """Return a constant. Benchmarks compare other requests with this one, which does no work."""
    return JsonResponse({"ok": True})


urlpatterns = [
    path(address.replace("{", "<str:").replace("}", ">"), endpoint, name=endpoint.name)
    for address, endpoint in ENDPOINTS.items()
]

if os.environ.get("MEMORYHUB_BENCHMARK"):
    urlpatterns.append(path("benchmark/trivial", trivial))
