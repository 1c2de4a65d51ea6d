"""Memory versions in the API: list, retrieve, redact."""

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.accounts import second_person
from memoryhub.actions.erasure.api import redact
from memoryhub.actions.memories.api import versions as api_versions
from memoryhub.actions.memories.api.versions import Author, NoSuchVersion, Wanted
from memoryhub.api import objects
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.memories import FULL_LIMIT, ListVersions, MemoryVersion, RetrievedView, VersionPage
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access

router = Router()

ALL = "/memory_stores/{memory_store_id}/memory_versions"
ONE = ALL + "/{memory_version_id}"


@router.get(ALL, auth=needs(Access.READ), response=answers(VersionPage, 429), summary="List memory versions")
def list_memory_versions(request: HttpRequest, memory_store_id: str, query: Query[ListVersions]) -> Json:
    """Memory versions, newest first. In a large memory store each page scans a part of it: a page can have fewer
    versions than its limit, or none, while there is a `next_page`. A version has one author, so filters for two
    different authors find nothing."""
    full = query.view == "full"
    filters = {"store": memory_store_id, **query.model_dump(exclude={"limit", "page"})}
    after = cursors.decode("memory_versions", filters, query.page, (int, str))
    limit = min(query.limit, FULL_LIMIT) if full else query.limit
    wanted = Wanted(
        memory=query.memory_id,
        operation=query.operation,
        authors=_authors(query),
        start=query.created_at_gte,
        end=query.created_at_lte,
        full=full,
        limit=limit,
        after=(after[0], after[1]) if after else None,
    )
    page = api_versions.versions(memory_store_id, wanted, call_of(request).asked)
    return {
        "data": [objects.memory_version(memory_store_id, version) for version in page.versions],
        "next_page": cursors.encode("memory_versions", filters, page.next) if page.next else None,
    }


@router.get(ONE, auth=needs(Access.READ), response=answers(MemoryVersion, 429), summary="Retrieve a memory version")
def retrieve_memory_version(
    request: HttpRequest, memory_store_id: str, memory_version_id: str, query: Query[RetrievedView]
) -> Json:
    """A memory as it was after one change."""
    asked, full = call_of(request).asked, query.view == "full"
    try:
        found = api_versions.retrieve(memory_store_id, memory_version_id, asked, full=full)
    except NoSuchVersion:
        raise _missing() from None
    return objects.memory_version(memory_store_id, found)


@router.post(
    ONE + "/redact", auth=needs(Access.MANAGE, session=False), response=answers(MemoryVersion, 429),
    summary="Redact a memory version",
)  # fmt: skip
def redact_memory_version(request: HttpRequest, memory_store_id: str, memory_version_id: str) -> Json:
    """Permanently removes text and path from a version. 400 for the newest version of a live memory, and for a version
    under a legal hold; a version that is already redacted is returned unchanged. 403 for a request with a session, and
    for every request while the hub wants a second person for redactions."""
    if second_person.is_on():
        raise Problem.needs_second_person()
    try:
        found = redact(memory_store_id, memory_version_id, call_of(request).asked)
    except NoSuchVersion:
        raise _missing() from None
    return objects.memory_version(memory_store_id, found)


def _missing() -> Problem:
    return Problem.not_found("This memory store has no such memory version.")


def _authors(query: ListVersions) -> tuple[Author, ...]:
    named = {
        "session_actor": query.session_id,
        "api_actor": query.api_key_id,
        "service_account_actor": query.service_account_id,
    }
    return tuple(Author(type, id) for type, id in named.items() if id is not None)
