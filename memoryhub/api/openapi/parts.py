"""The parts of the OpenAPI document that all operations share: keys, headers, errors, names."""

from typing import Any

from pydantic import BaseModel

from memoryhub.api.openapi.tool import TOOL_SCHEMAS
from memoryhub.api.schemas import EXAMPLE_REQUEST, Conflict, Error
from memoryhub.machines.errors import reused

Json = dict[str, Any]

VERSION = "1"
DESCRIPTION = """\
Memory stores for agents: Anthropic's `memory_stores` API, the memory tool's calls, and what MemoryHub adds to them.

- **Keys.** `Authorization: Bearer mh_…` or `x-api-key: mh_…`. An administrator issues them on an agent's page.
- **Errors** come in one envelope; `error.type` is for programs, `error.message` for people. The same
  request may be sent again after 429, 500 and 503, and not after a 409 with `x-should-retry: false`.
- **Lists** return a page and `next_page`, to send as `page` in the next request with the same filters.
- **Requests** may contain keys and query parameters that the hub does not know: it ignores them. `anthropic-version`,
  `anthropic-beta` and `?beta=true` have no effect. A known query parameter may occur only once.
- `HEAD` is answered with 405, like any method that is not listed here.
"""

TAGS = {
    "Memory stores": "Trees of memories, each with its settings, its keys and its audit.",
    "Memories": "Texts at paths.",
    "Memory versions": "Past states of memories. Every change writes one; redaction permanently removes its text.",
    "Memory tool": "The memory tool's calls, as Claude makes them.",
    "Search": "Finds memories by their content.",
    "Compare": "Compares memory versions, and finds the version that introduced each line.",
    "Restore": "Restores memory versions and archived memory stores.",
    "Proposals": "Changes by your agent that a path rule has held back until a person decides about them.",
    "Sessions": "The runs of your agent, in the shape of Anthropic's sessions.",
    "Dreams": "Claude reads past sessions and reorganises a memory store. Experimental.",
    "Audit": "Audit entries: who did what, and when.",
    "Export": "Downloads a memory store with its history.",
    "This document": "The OpenAPI document.",
}

SECURITY_SCHEMES: Json = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An agent's key: `mh_…`. It wins over `x-api-key`.",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "An agent's key: `mh_…`."},
}

_B32 = "[0-9A-HJKMNP-TV-Z]{26}"
_ID = "01K9Q8ZV7M4T2B6C8D0E1F3G5H"


def _id(prefix: str, about: str) -> Json:
    return {"description": about, "pattern": f"^{prefix}_{_B32}$", "examples": [f"{prefix}_{_ID}"]}


IDS: dict[str, Json] = {
    "memory_store_id": _id("memstore", "The id of a memory store."),
    "memory_id": _id("mem", "The id of a memory."),
    "memory_version_id": _id("memver", "The id of a memory version."),
    "session_id": _id("sesn", "The id of a session."),
    "dream_id": _id("drm", "The id of a dream."),
    "proposal_number": {
        "description": "The number of a proposal, counted by memory store.",
        "pattern": "^[0-9]{1,18}$",
        "examples": ["17"],
    },
}

ABOUT = {
    "operation": "The change that the memory version records.",
    "command": "The command of the memory tool or of the hub.",
    "outcome": "Whether it was done (`ok`) or refused (`error`).",
    "door": "The door through which the request came.",
    "session_id": "The id of a session.",
    "memory_id": "The id of a memory.",
    "api_key_id": "The id of a key.",
    "created_at[gte]": "At this time or later.",
    "created_at[lte]": "At this time or earlier.",
    "seq": "The number of an audit entry in the chain of its memory store, from 1.",
}
"""Descriptions of parameters that have none of their own."""

SESSION: Json = {"$ref": "#/components/parameters/Memoryhub-Session"}


def _header(name: str, longest: int, about: str) -> Json:
    schema = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": "^[!-~]+$"}
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}


HEADERS_OF_REQUESTS: Json = {
    "Memoryhub-Session": _header(
        "Memoryhub-Session", 128, "The agent's name for its run; versions and audit entries then show a session."
    ),
    "Idempotency-Key": _header("Idempotency-Key", 255, "Names the request instead of the blocks' own ids."),
}


def _text(about: str, **schema: Any) -> Json:
    return {"description": about, "schema": {"type": "string", **schema}}


REQUEST_ID: Json = {"$ref": "#/components/headers/request-id"}
HEADERS: Json = {
    "request-id": _text("Names the request, also in the hub's log.", examples=[EXAMPLE_REQUEST]),
    "Retry-After": {
        "description": "Seconds after which the request may be sent again.",
        "schema": {"type": "integer"},
    },
    "Allow": _text("The methods that this address answers.", examples=["GET, POST"]),
    "WWW-Authenticate": _text("How to send a key.", examples=["Bearer"]),
    "x-should-retry": _text("`false`: the same request would be refused again.", enum=["false"]),
    "Idempotent-Replay": _text("`true`: at least one of the blocks had run before.", enum=["true"]),
    "Content-Disposition": _text(
        "The name of the file.", examples=['attachment; filename="research-20260131-143000.zip"']
    ),
    "Memoryhub-Usage": _text(
        "The memory store's usage, each figure with its limit if there is one (RFC 8941).",
        examples=["memories=12;limit=10000, bytes=3456;limit=104857600"],
    ),
}

_ERRORS: dict[int, tuple[str, str, str, str, tuple[str, ...]]] = {
    400: (
        "BadRequest", "The request is not as described here, or the memory store's rules forbid it.",
        "invalid_request_error", "`limit` must be at most 100.", (),
    ),
    401: (
        "NoKey", "No key, or one that is wrong, revoked or expired.", "authentication_error",
        "A valid key is needed: `Authorization: Bearer mh_…` or `x-api-key: mh_…`.", ("WWW-Authenticate",),
    ),
    403: (
        "Forbidden", "The key may not do this, or the request names a session and may not. The hub's audit records it.",
        "permission_error", "This needs a key with `manage` access to the memory store.", (),
    ),
    404: (
        "NotFound", "Nothing has this id, or the key does not reach it.", "not_found_error",
        "There is no such memory store, or this key does not reach it.", (),
    ),
    405: (
        "OtherMethod", "Another method, HEAD and OPTIONS too.", "invalid_request_error",
        "This address answers GET only.", ("Allow",),
    ),
    409: (
        "Conflict", "The request conflicts with a memory at the path, or with a text other than expected.",
        "memory_path_conflict_error", "There is a memory or a directory at /notes/todo.md already.",
        ("x-should-retry",),
    ),
    413: (
        "TooLarge", "The body is larger than the hub, or this memory store, takes.", "request_too_large",
        "The body is larger than 1048576 bytes, which is the limit.", (),
    ),
    415: (
        "NotJson", "The content type of the body is not JSON, or the body is compressed.", "invalid_request_error",
        "The content type must be application/json.", (),
    ),
    422: (
        "Reused", "A block, or an idempotency key, was sent before with another input. Nothing has run.",
        "invalid_request_error", reused("toolu_01"), (),
    ),
    429: (
        "TooManyCalls", "The key would pass the memory store's limit of calls in 60 seconds. Nothing has run.",
        "rate_limit_error", "This key may make 60 calls in 60 seconds to this memory store. Nothing was run; wait 7 s.",
        ("Retry-After",),
    ),
    500: (
        "Failed", "The hub failed; its log has the request id.", "api_error",
        "The hub failed to answer; its log says why.", (),
    ),
    507: (
        "AuditFull", "The audit of the memory store has reached its limit of bytes. Nothing has run.", "api_error",
        "The audit of this memory store has reached its limit of 10737418240 bytes. Nothing was run.",
        ("x-should-retry",),
    ),
    503: (
        "NoDatabase", "The database did not answer.", "overloaded_error", "The database did not answer; try again.",
        ("Retry-After",),
    ),
}  # fmt: skip


def response(status: int) -> str:
    """Return the reference to the description of the error with this `status`."""
    return f"#/components/responses/{_ERRORS[status][0]}"


def _response(status: int) -> tuple[str, Json]:
    name, about, kind, message, headers = _ERRORS[status]
    error: Json = {"type": kind, "message": message}
    if status == 409:
        error |= {"conflicting_path": "/notes/todo.md", "conflicting_memory_id": f"mem_{_ID}"}
    schema = Conflict if status == 409 else Error
    content = {
        "schema": {"$ref": f"#/components/schemas/{schema.__name__}"},
        "example": {"type": "error", "error": error, "request_id": EXAMPLE_REQUEST},
    }
    named = {header: {"$ref": f"#/components/headers/{header}"} for header in ("request-id", *headers)}
    return name, {"description": about, "headers": named, "content": {"application/json": content}}


RESPONSES: Json = dict(map(_response, _ERRORS))


def schemas() -> Json:
    """Return the schemas of the errors and of everything in them."""
    made: Json = dict(TOOL_SCHEMAS)
    models: tuple[type[BaseModel], ...] = (Error, Conflict)
    for model in models:
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        made |= schema.pop("$defs", {})
        made[model.__name__] = schema
    return made
