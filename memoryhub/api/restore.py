"""Restoring memory versions and unarchiving memory stores in the API."""

from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import ValidationError

from memoryhub.actions.memories.api import restore, told_of_memory
from memoryhub.actions.memories.api.versions import NoSuchVersion
from memoryhub.actions.stores import api
from memoryhub.api import objects, stores
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.further import RestoreVersion
from memoryhub.api.schemas.memories import Memory
from memoryhub.api.schemas.stores import Store
from memoryhub.api.sentences import sentence_of
from memoryhub.machines.errors import Problem
from memoryhub.models import Access
from memoryhub.pure import strict_json
from memoryhub.pure.protocol import paths

router = Router()

BODY: dict[str, Any] = {
    "requestBody": {
        "required": False,
        "content": {"application/json": {"schema": RestoreVersion.model_json_schema()}},
    }
}


@router.post(
    "/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/restore",
    auth=needs(Access.WRITE), response=answers(Memory, 409, 429), summary="Restore a memory version",
    openapi_extra=BODY,
)  # fmt: skip
def restore_memory_version(request: HttpRequest, memory_store_id: str, memory_version_id: str) -> Json:
    """Makes the text of a memory version the newest again, as a new version. A deleted memory comes back with its id,
    at `path` or at the version's path; 409 if that path is taken. A live memory keeps its path. 400 if the version has
    no text, or if the memory store is archived."""
    call = call_of(request)
    path = _path(call.body)
    try:
        memory = restore.restore_version(memory_store_id, memory_version_id, path, call.asked)
    except NoSuchVersion:
        raise Problem.not_found("This memory store has no such memory version.") from None
    return objects.memory(memory.store_id, told_of_memory(memory), full=False)


def _path(body: bytes) -> str | None:
    """Return the path in the body, or None. The body is optional."""
    if not body:
        return None
    try:
        given = RestoreVersion.model_validate(strict_json.loads(body), strict=True)
    except ValidationError as error:
        raise Problem.invalid(sentence_of(error)) from None
    return None if given.path is None else paths.from_api(given.path)


@router.post(
    "/memory_stores/{memory_store_id}/unarchive", auth=needs(Access.MANAGE), response=answers(Store, 429),
    summary="Unarchive a memory store",
)  # fmt: skip
def unarchive_memory_store(request: HttpRequest, memory_store_id: str) -> Json:
    """Unarchives a memory store. A memory store that is not archived is returned unchanged."""
    return stores.as_json(api.unarchive_store(memory_store_id, call_of(request).asked))
