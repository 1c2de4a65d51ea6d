"""Exports in the API, streamed after their audit entry is written."""

from typing import Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router
from pydantic import Field

from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories.api.requests import on_store
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import Export, NotDone, Wanted
from memoryhub.api.frame import NOT_WHOLE, call_of, needs
from memoryhub.api.schemas import Body, answers
from memoryhub.machines.errors import Problem
from memoryhub.machines.requests import note_refusal
from memoryhub.models import Access, Door

router = Router()

ADDRESS = "/memory_stores/{memory_store_id}/export"
AUDIT = (
    "This export includes the audit and needs a key with `manage` access to the memory store: "
    "leave out the history, or ask for zip or git."
)
GOVERNANCE = "With `governance`, an export needs a key with `manage` access to the memory store."
_BINARY = {"schema": {"type": "string", "format": "binary"}}


class ExportStore(Body):
    format: Literal["zip", "jsonl", "git"] = Field(
        description="`zip`: the texts at their paths. `jsonl`: JSON Lines, with the audit if a whole memory "
        "store is exported with its history. `git`: a stream for `git fast-import`, one commit a memory version.",
        examples=["zip"],
    )
    path_prefix: str | None = Field(
        None,
        max_length=1100,
        description="The directory to export; by default the whole memory store.",
        examples=["/notes/"],
    )
    history: bool = Field(
        True,
        description="Whether to include all memory versions and the trash, or only the newest versions.",
    )
    governance: bool = Field(
        False,
        description="Whether to include what people decided and said: the proposals and path rules of a whole memory "
        "store, and comments. `jsonl` and, with history, `zip` have them. This needs a key with `manage` access.",
    )


@router.post(
    ADDRESS, auth=needs(Access.READ, whole=True), response=answers(None, 403, 429), summary="Export a memory store",
    openapi_extra={"responses": {200: {
        "description": "The export, in the requested format.",
        "headers": {"Content-Disposition": {"$ref": "#/components/headers/Content-Disposition"}},
        "content": dict.fromkeys(exporting.TYPES.values(), _BINARY),
    }}},
)  # fmt: skip
def export_memory_store(request: HttpRequest, memory_store_id: str, body: ExportStore) -> StreamingHttpResponse:
    """Streams memories with their versions, as of the audit entry that this request writes. Two exports need `manage`
    access: one with `governance`, and `jsonl` of a whole memory store with its history, because it includes the audit.
    All others need `read`; without `manage`, they leave out the notes of deletions, which people wrote. The last line
    of JSON Lines has type `end`, and the last line of a git stream is `done`: an export without it is incomplete."""
    call = call_of(request)
    path = exporting.directory_of(body.path_prefix or "")
    manages = call.caller.access.includes(Access.MANAGE)
    wanted = Wanted(body.format, path, history=body.history, governance=body.governance, notes=manages)
    if (wanted.audit or wanted.governance) and not manages:
        why = GOVERNANCE if wanted.governance else AUDIT
        note_refusal(request, call.caller, Refusal(memory_store_id, 403, why), door=Door.API, at=call.at)
        raise Problem.forbidden(why)
    if wanted.path and not wanted.path.startswith("/"):
        raise Problem.invalid("`path_prefix` must begin with `/`.")

    def do(store: Tree) -> tuple[Export | Exception, Record | None]:
        if store.sight is not None:  # a rule that hides memories was saved since the request was checked
            return Problem.forbidden(NOT_WHOLE), None
        try:
            return exporting.prepared(store, wanted)
        except NotDone:
            return Problem.not_found("This memory store has no such directory."), None

    export = on_store(memory_store_id, call.asked, Record("export"), do)
    response = StreamingHttpResponse(export.body(), content_type=export.content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{export.name}"'
    return response
