"""Schemas of dreams in the API."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from memoryhub.actions.claude_runs.dreams import MOST_SESSIONS
from memoryhub.api.queries import Flag, Limit, Moment, Page
from memoryhub.api.schemas import Body, Filters, Object, Timestamp

LONGEST_INSTRUCTIONS = 4_096

_ID = "01K9Q8ZV7M4T2B6C8D0E1F3G5H"
_INPUTS: list[dict[str, Any]] = [
    {"type": "memory_store", "memory_store_id": f"memstore_{_ID}"},
    {"type": "sessions", "session_ids": [f"sesn_{_ID}"]},
]
_ASKED: dict[str, Any] = {
    "inputs": _INPUTS,
    "model": "claude-sonnet-5-5",
    "instructions": "Keep what customers prefer.",
    "output_behavior": {"type": "create_new"},
}
_EXAMPLE: dict[str, Any] = {
    "type": "dream",
    "id": f"drm_{_ID}",
    "status": "pending",
    **_ASKED,
    "model": {"id": "claude-sonnet-5-5", "speed": "standard"},
    "outputs": [],
    "session_id": None,
    "usage": {
        "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    },
    "error": None,
    "created_at": "2026-01-31T14:30:00.000000Z",
    "ended_at": None,
    "archived_at": None,
    "proposal_number": None,
}  # fmt: skip

Status = Literal["pending", "running", "completed", "failed", "canceled"]


class DreamMemoryStore(Body):
    """The memory store that the dream reads."""

    type: Literal["memory_store"]
    memory_store_id: str = Field(min_length=1, max_length=64)


class DreamSessions(Body):
    """The sessions that the dream reads: what they did in the memory store."""

    type: Literal["sessions"]
    session_ids: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        min_length=1, max_length=MOST_SESSIONS, description="No id twice."
    )


DreamInput = Annotated[DreamMemoryStore | DreamSessions, Field(discriminator="type")]


class DreamModel(Body):
    """The model that runs a dream."""

    id: str = Field(min_length=1, max_length=256)
    speed: Literal["standard"] | None = None


class DreamCreatesNew(Body):
    """The result becomes a new memory store, which begins as a copy of the one that the dream reads."""

    type: Literal["create_new"]


class DreamUpdates(Body):
    """The result is for the memory store that the dream reads."""

    type: Literal["update_existing"]
    memory_store_id: str = Field(max_length=64, description="The memory store of `inputs`.")


DreamBehavior = Annotated[DreamCreatesNew | DreamUpdates, Field(discriminator="type")]


class CreateDream(Body):
    """What Claude reads, and where its result goes."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ASKED]})
    inputs: list[DreamInput] = Field(
        min_length=2, max_length=2, description="One `memory_store` and one `sessions`, in any order."
    )
    model: str | DreamModel = Field(description="One of the models that the hub lets Claude runs use.")
    instructions: str | None = Field(None, min_length=1, max_length=LONGEST_INSTRUCTIONS)
    output_behavior: DreamBehavior | None = Field(None, description="Absent: `create_new`.")


class ListDreams(Filters):
    """Filters of a list of dreams."""

    created_at_gt: Moment | None = Field(None, alias="created_at[gt]", description="Created after this time.")
    created_at_lt: Moment | None = Field(None, alias="created_at[lt]", description="Created before this time.")
    include_archived: Flag = Field(False, description="Whether archived dreams are in the list too.")
    statuses: list[Status] = Field(
        default_factory=list, alias="statuses[]", max_length=20, description="Only dreams with one of these statuses."
    )
    limit: Limit = 20
    page: Page | None = None


class DreamOutput(Object):
    """The memory store that has the result."""

    type: Literal["memory_store"]
    memory_store_id: str


class DreamUsage(Object):
    """The tokens that the complete answers of a dream used."""

    input_tokens: int = Field(description="Input tokens that were neither written to the cache nor read from it.")
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class DreamError(Object):
    """Why a dream failed."""

    type: str = Field(description="`timeout`, `internal_error`, or another word for programs.")
    message: str


class Dream(Object):
    """Claude reads a memory store and what agents did in past sessions, and reorganises the memories."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    type: Literal["dream"]
    id: str
    status: Status
    inputs: list[DreamInput]
    model: DreamModel
    instructions: str | None
    output_behavior: DreamBehavior
    outputs: list[DreamOutput] = Field(description="Empty until the dream is completed.")
    session_id: str | None = Field(description="The session of its calls; null: it made none yet.")
    usage: DreamUsage
    error: DreamError | None = Field(description="Null unless `status` is `failed`.")
    created_at: Timestamp
    ended_at: Timestamp | None
    archived_at: Timestamp | None
    proposal_number: int | None = Field(
        description="The hub's own: the proposal that has the result of `update_existing`. Unless path rules allow all "
        "of it, a person decides about it."
    )


class DreamPage(Object):
    """A page of dreams."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_EXAMPLE], "next_page": None}]})
    data: list[Dream]
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")
