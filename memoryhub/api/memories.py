"""Memories in the API: create, list, retrieve, update, delete."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.memories import api
from memoryhub.actions.memories.api import Change, MemoryTold, NoSuchMemory, listing
from memoryhub.api import objects
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.memories import (
    FULL_LIMIT,
    ChangedView,
    CreateMemory,
    DeletedMemory,
    DeleteMemory,
    ListMemories,
    Memory,
    MemoryPage,
    RetrievedView,
    UpdateMemory,
)
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access
from memoryhub.pure.protocol import paths

router = Router()

ALL = "/memory_stores/{memory_store_id}/memories"
ONE = ALL + "/{memory_id}"


@router.post(ALL, auth=needs(Access.WRITE), response=answers(Memory, 409, 429), summary="Create a memory")
def create_memory(request: HttpRequest, memory_store_id: str, query: Query[ChangedView], body: CreateMemory) -> Json:
    """Creates a memory and never overwrites: 409 if a memory or a directory has the path, or if a memory has the path
    of a directory above it. Directories exist as long as memories are in them."""
    path = paths.from_api(body.path)
    made = api.create(memory_store_id, path, body.content, call_of(request).asked)
    return objects.memory(memory_store_id, made, full=query.view == "full")


@router.get(ALL, auth=needs(Access.READ), response=answers(MemoryPage, 429), summary="List memories")
def list_memories(request: HttpRequest, memory_store_id: str, query: Query[ListMemories]) -> Json:
    """Memories in the byte order of their paths. With `depth` 1, the memories of each subdirectory are replaced by one
    `memory_prefix` item; these items are sorted and counted like memories."""
    full = query.view == "full"
    filters = {"store": memory_store_id, "prefix": query.path_prefix, "depth": query.depth, "view": query.view}
    after = cursors.decode("memories", filters, query.page, (str,))
    wanted = listing.Wanted(
        directory=objects.directory_of(query.path_prefix),
        children=query.depth == 1,
        full=full,
        limit=min(query.limit, FULL_LIMIT) if full else query.limit,
        after=after[0] if after else None,
    )
    page = listing.memories(memory_store_id, wanted, call_of(request).asked)
    return {
        "data": [_item(memory_store_id, item, full=full) for item in page.items],
        "next_page": cursors.encode("memories", filters, [page.next]) if page.next else None,
    }


@router.get(ONE, auth=needs(Access.READ), response=answers(Memory, 429), summary="Retrieve a memory")
def retrieve_memory(request: HttpRequest, memory_store_id: str, memory_id: str, query: Query[RetrievedView]) -> Json:
    """One memory. 404 if it was deleted; its versions remain."""
    full = query.view == "full"
    try:
        found = api.retrieve(memory_store_id, memory_id, call_of(request).asked, full=full)
    except NoSuchMemory:
        raise _missing() from None
    return objects.memory(memory_store_id, found, full=full)


@router.api_operation(
    ["POST", "PATCH"], ONE, auth=needs(Access.WRITE), response=answers(Memory, 409, 429), summary="Update a memory"
)
def update_memory(
    request: HttpRequest, memory_store_id: str, memory_id: str, query: Query[ChangedView], body: UpdateMemory
) -> Json:
    """Changes the text, the path or both, as one version; the id stays. 409 if the memory's text does not have the
    digest in `precondition`, unless path and text already are what the request asks for. A request that changes nothing
    is 200 and makes no version. With `view=full`, the text of a request without `content` counts as read."""
    if body.content is None and body.path is None:
        raise Problem.invalid("An update needs `content`, `path` or both.")
    expected = body.precondition.content_sha256 if body.precondition else None
    change = Change(body.content, None if body.path is None else paths.from_api(body.path), expected)
    full, asked = query.view == "full", call_of(request).asked
    try:
        made = api.update(memory_store_id, memory_id, change, asked)
        if full and body.content is None:
            made = api.retrieve(memory_store_id, memory_id, asked, full=True)
    except NoSuchMemory:
        raise _missing() from None
    return objects.memory(memory_store_id, made, full=full)


@router.delete(ONE, auth=needs(Access.WRITE), response=answers(DeletedMemory, 409, 429), summary="Delete a memory")
def delete_memory(request: HttpRequest, memory_store_id: str, memory_id: str, query: Query[DeleteMemory]) -> Json:
    """Deletes a memory. Its versions remain, and another one records the deletion."""
    try:
        api.delete(memory_store_id, memory_id, query.expected_content_sha256, call_of(request).asked)
    except NoSuchMemory:
        raise _missing() from None
    return {"type": "memory_deleted", "id": memory_id}


def _missing() -> Problem:
    return Problem.not_found("This memory store has no such memory.")


def _item(store_id: str, item: MemoryTold | str, *, full: bool) -> dict[str, Any]:
    return objects.memory_prefix(item) if isinstance(item, str) else objects.memory(store_id, item, full=full)
