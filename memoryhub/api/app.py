"""The API under /v1. Its routers define its addresses and its OpenAPI document."""

from functools import cache
from types import ModuleType

from django.http import HttpRequest, HttpResponse

from memoryhub.api import (
    audit,
    blame,
    diff,
    dreams,
    export,
    memories,
    memory_versions,
    openapi,
    proposals,
    restore,
    search,
    sessions,
    stores,
    tool_calls,
)
from memoryhub.api.declared import Declared, HubAPI, operations_of
from memoryhub.api.frame import Endpoint, encode
from memoryhub.api.openapi import parts as openapi_parts

ROUTERS: tuple[tuple[ModuleType, str], ...] = (
    (stores, "Memory stores"),
    (memories, "Memories"),
    (memory_versions, "Memory versions"),
    (tool_calls, "Memory tool"),
    (search, "Search"),
    (diff, "Compare"),
    (blame, "Compare"),
    (restore, "Restore"),
    (proposals, "Proposals"),
    (sessions, "Sessions"),
    (dreams, "Dreams"),
    (audit, "Audit"),
    (export, "Export"),
)


api = HubAPI(
    title="MemoryHub", version=openapi_parts.VERSION, description=openapi_parts.DESCRIPTION, openapi_url=None,
    docs_url=None,
)  # fmt: skip


@api.get(
    "/openapi.json", auth=None, tags=["This document"], summary="This document",
    openapi_extra={
        "security": [],
        "responses": {200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
    },
)  # fmt: skip
def openapi_document(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI 3.1 document of everything under /v1. It needs no key."""
    return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return encode(openapi.document(api)).encode()


for module, tag in ROUTERS:
    api.add_router("", module.router, tags=[tag])


def _endpoints() -> dict[str, Endpoint]:
    """Return {address: endpoint} for all addresses under /v1/, written as Ninja and OpenAPI write them."""
    operations: dict[str, list[Declared]] = {}
    for operation in operations_of(api):
        operations.setdefault(operation.path.lstrip("/"), []).append(operation)
    return {path: Endpoint(found) for path, found in operations.items()}


ENDPOINTS = _endpoints()
TOOL_CALLS = ENDPOINTS["memory_stores/{memory_store_id}/tool_calls"]


def _shape(parts: list[str]) -> tuple[object, ...]:
    """Return a key that is equal for all addresses of one endpoint: the number of the address's parts, and its first,
    third, fifth … part. The second, fourth … part are ids."""
    return (len(parts), *parts[::2])


_BY_SHAPE = {
    _shape(path.split("/")): (endpoint, [(at, part[1:-1]) for at, part in enumerate(path.split("/")) if part[0] == "{"])
    for path, endpoint in ENDPOINTS.items()
}


def find(path: str) -> tuple[Endpoint, dict[str, str]] | None:
    """Return the endpoint of an address under /v1/, and {name: id} of the ids in the address. None if there is no
    endpoint."""
    parts = path.split("/")
    found = _BY_SHAPE.get(_shape(parts))
    if found is None or "" in parts:
        return None
    endpoint, ids = found
    return endpoint, {name: parts[at] for at, name in ids}
