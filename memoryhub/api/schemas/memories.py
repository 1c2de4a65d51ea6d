"""Schemas of memories and memory versions in the API."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from memoryhub.api.queries import Limit, Moment, Page, Whole
from memoryhub.api.schemas import Body, Filters, Object, Timestamp

_STORE, _MEMORY = "memstore_01K9Q8ZV7M4T2B6C8D0E1F3G5H", "mem_01K9Q8ZV7M4T2B6C8D0E1F3G5J"
_VERSION, _AT = "memver_01K9Q8ZV7M4T2B6C8D0E1F3G5K", "2026-01-31T14:30:00.000000Z"
_SHA256 = "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"
_TEXT = "hi there\n"
MEMORY_EXAMPLE: dict[str, Any] = {
    "type": "memory", "id": _MEMORY, "memory_store_id": _STORE, "memory_version_id": _VERSION,
    "path": "/notes/todo.md", "content": None, "content_sha256": _SHA256, "content_size_bytes": 9, "created_at": _AT,
    "updated_at": _AT,
}  # fmt: skip
_VERSION_EXAMPLE: dict[str, Any] = {
    "type": "memory_version", "id": _VERSION, "memory_store_id": _STORE, "memory_id": _MEMORY,
    "operation": "created", "path": "/notes/todo.md", "content": None, "content_sha256": _SHA256,
    "content_size_bytes": 9, "created_at": _AT,
    "created_by": {"type": "api_actor", "api_key_id": "apikey_01K9Q8ZV7M4T2B6C8D0E1F3G5M"},
    "redacted_at": None, "redacted_by": None,
}  # fmt: skip

View = Literal["basic", "full"]
_VIEW = "`full`: with the text, which then counts as read; `basic`: `content` is null."
Path = Annotated[str, Field(description="From the root of the memory store, such as `/notes/todo.md`.")]
Sha256 = Annotated[str, Field(max_length=64, description="SHA-256 of the text's UTF-8 bytes, in lower-case hex.")]
FULL_LIMIT = 20
"""The most items of a page with texts."""


class CreateMemory(Body):
    """A memory to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"path": "/notes/todo.md", "content": _TEXT}]})
    path: Path
    content: str = Field(description="The text, stored as it is; it may be empty.")


class Precondition(Body):
    """A condition for an update: the SHA-256 that the memory's current text must have."""

    type: Literal["content_sha256"]
    content_sha256: Sha256


class UpdateMemory(Body):
    """The changes to a memory: its text, its path or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"content": _TEXT, "precondition": {"type": "content_sha256", "content_sha256": _SHA256}},
                {"path": "/notes/done.md"},
            ]
        }
    )
    content: str | None = Field(None, description="The new text.")
    path: Path | None = Field(None, description="The new path, which must be free.")
    precondition: Precondition | None = None


class ChangedView(Filters):
    """The view of the memory that was created or updated."""

    view: View = Field("basic", description=_VIEW)


class RetrievedView(Filters):
    """The view of the item that is retrieved."""

    view: View = Field("full", description=_VIEW)


class DeleteMemory(Filters):
    """A condition for the deletion."""

    expected_content_sha256: Sha256 | None = Field(None, description="Delete only a memory whose text has this digest.")


class ListMemories(Filters):
    """Filters and view of a list of memories."""

    path_prefix: str | None = Field(None, description="Only under this directory; ends with `/`.")
    depth: Whole = Field(0, ge=0, le=1, description="1: only direct children, directories as `memory_prefix` items.")
    view: View = Field("basic", description=f"{_VIEW} With `full` a page has {FULL_LIMIT} items at most.")
    limit: Limit = 20
    page: Page | None = None


class ListVersions(Filters):
    """Filters and view of a list of memory versions."""

    memory_id: str | None = Field(None, description="Of this memory, deleted or not.")
    operation: Literal["created", "modified", "deleted"] | None = None
    session_id: str | None = Field(None, description="Written in this session.")
    api_key_id: str | None = Field(None, description="Written with this key, without a session.")
    service_account_id: str | None = Field(None, description="Written by this retention policy, or service account.")
    created_at_gte: Moment | None = Field(None, alias="created_at[gte]", description="Written at this time or later.")
    created_at_lte: Moment | None = Field(None, alias="created_at[lte]", description="Written at this time or earlier.")
    view: View = Field("basic", description=f"{_VIEW} With `full` a page has {FULL_LIMIT} items at most.")
    limit: Limit = 20
    page: Page | None = None


class Memory(Object):
    """A text at a path."""

    model_config = ConfigDict(json_schema_extra={"examples": [MEMORY_EXAMPLE]})
    type: Literal["memory"]
    id: str = Field(description="Stays the same when the path changes.")
    memory_store_id: str
    memory_version_id: str = Field(description="The newest version.")
    path: str
    content: str | None = Field(description="Null in a basic view.")
    content_sha256: str = Field(description="Of the stored text, which masking may have changed.")
    content_size_bytes: int
    created_at: Timestamp
    updated_at: Timestamp


class MemoryPrefix(Object):
    """A directory, in place of the memories in it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": "memory_prefix", "path": "/notes/"}]})
    type: Literal["memory_prefix"]
    path: str


class MemoryPage(Object):
    """A page of memories and directories in the byte order of their paths."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [MEMORY_EXAMPLE], "next_page": None}]})
    data: list[Memory | MemoryPrefix]
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")


class DeletedMemory(Object):
    """A memory that was deleted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": "memory_deleted", "id": _MEMORY}]})
    type: Literal["memory_deleted"]
    id: str


class ApiActor(Object):
    type: Literal["api_actor"]
    api_key_id: str


class SessionActor(Object):
    type: Literal["session_actor"]
    session_id: str


class UserActor(Object):
    type: Literal["user_actor"]
    user_id: str


class ServiceAccountActor(Object):
    type: Literal["service_account_actor"]
    service_account_id: str


Actor = Annotated[
    ApiActor | SessionActor | UserActor | ServiceAccountActor,
    Field(description="A key, a session if the request named one, a person, a retention policy or a service account."),
]


class MemoryVersion(Object):
    """A memory as it was after one change."""

    model_config = ConfigDict(json_schema_extra={"examples": [_VERSION_EXAMPLE]})
    type: Literal["memory_version"]
    id: str
    memory_store_id: str
    memory_id: str
    operation: Literal["created", "modified", "deleted"]
    path: str | None = Field(description="Null when redacted.")
    content: str | None = Field(description="Null in a basic view, of a deletion, and when redacted.")
    content_sha256: str | None = Field(description="Null of a deletion and when redacted.")
    content_size_bytes: int | None = Field(description="Null of a deletion and when redacted.")
    created_at: Timestamp
    created_by: Actor | None = Field(description="Null: the hub itself, or its author is not known, or only by a name.")
    redacted_at: Timestamp | None
    redacted_by: Actor | None


class VersionPage(Object):
    """A page of memory versions, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_VERSION_EXAMPLE], "next_page": None}]})
    data: list[MemoryVersion]
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")
