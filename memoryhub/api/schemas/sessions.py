"""Schemas of sessions in the API."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from memoryhub.api.queries import Limit, Moment, Page
from memoryhub.api.schemas import Filters, Object, Timestamp

_ID = "01K9Q8ZV7M4T2B6C8D0E1F3G5H"
_EXAMPLE: dict[str, Any] = {
    "type": "session",
    "id": f"sesn_{_ID}",
    "title": "run-17",
    "agent": {
        "type": "agent", "id": f"agent_{_ID}", "name": "support-assistant", "description": "", "version": 1,
        "model": {"id": "unknown"}, "system": None, "tools": [], "skills": [], "mcp_servers": [], "multiagent": None,
        "execution_identity": {"type": "service_account"},
    },
    "status": "idle",
    "resources": [
        {
            "type": "memory_store", "memory_store_id": f"memstore_{_ID}", "name": "Research notes",
            "description": "What the research agents found out.", "instructions": None, "access": "read_write",
            "mount_path": "/mnt/memory/research-notes",
        }
    ],
    "created_at": "2026-01-31T14:30:00.000000Z",
    "updated_at": "2026-01-31T14:35:00.000000Z",
    "archived_at": None,
    "environment_id": "",
    "deployment_id": None,
    "budget": None,
    "metadata": {},
    "vault_ids": [],
    "outcome_evaluations": [],
    "stats": {"active_seconds": None, "duration_seconds": 300.0},
    "usage": {},
}  # fmt: skip


class ListSessions(Filters):
    """Filters of a list of sessions."""

    memory_store_id: str | None = Field(None, description="Only sessions with an entry in this memory store.")
    agent_id: str | None = Field(None, description="Only sessions of this agent: another than the key's has none.")
    created_at_gt: Moment | None = Field(None, alias="created_at[gt]", description="Begun after this time.")
    created_at_gte: Moment | None = Field(None, alias="created_at[gte]", description="Begun at this time or later.")
    created_at_lt: Moment | None = Field(None, alias="created_at[lt]", description="Begun before this time.")
    created_at_lte: Moment | None = Field(None, alias="created_at[lte]", description="Begun at this time or earlier.")
    order: Literal["asc", "desc"] = Field("desc", description="By when they began.")
    limit: Limit = 20
    page: Page | None = None


class MemoryStoreResource(Object):
    """A memory store in which a session has entries."""

    type: Literal["memory_store"]
    memory_store_id: str
    name: str
    description: str
    instructions: None = Field(description="The hub has none.")
    access: Literal["read_write", "read_only"] = Field(
        description="`read_only`: the key that asks may not write there, or the memory store is archived."
    )
    mount_path: str = Field(description="Where the SDK's directory sync puts it, derived from its name.")


class SessionAgent(Object):
    """The agent of a session. The hub does not know its model, its tools and its system prompt."""

    type: Literal["agent"]
    id: str
    name: str
    description: str
    version: int
    model: dict[str, str]
    system: None
    tools: list[str]
    skills: list[str]
    mcp_servers: list[str]
    multiagent: None
    execution_identity: dict[str, str]


class SessionStats(Object):
    active_seconds: None
    duration_seconds: float = Field(description="From its first request to its last.")


class SessionObject(Object):
    """A session of an agent, in the shape of Anthropic's sessions. What the hub does not know is null or empty."""

    model_config = ConfigDict(title="Session", json_schema_extra={"examples": [_EXAMPLE]})
    type: Literal["session"]
    id: str
    title: str = Field(description="The agent's own name for it, from the header `Memoryhub-Session`.")
    agent: SessionAgent
    status: Literal["idle"] = Field(description="The hub does not know whether the agent runs.")
    resources: list[MemoryStoreResource]
    created_at: Timestamp
    updated_at: Timestamp = Field(description="Its last request, to the second.")
    archived_at: None
    environment_id: str
    deployment_id: None
    budget: None
    metadata: dict[str, str]
    vault_ids: list[str]
    outcome_evaluations: list[str]
    stats: SessionStats
    usage: dict[str, int]


class SessionPage(Object):
    """A page of sessions."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_EXAMPLE], "next_page": None}]})
    data: list[SessionObject]
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")
