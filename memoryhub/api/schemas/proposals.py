"""Schemas of proposals in the API."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from memoryhub.api.queries import Limit, Page
from memoryhub.api.schemas import Filters, Object, Timestamp
from memoryhub.api.schemas.memories import Actor

State = Literal["open", "merged", "partly_merged", "refused", "withdrawn"]

_EXAMPLE: dict[str, Any] = {
    "type": "proposal",
    "memory_store_id": "memstore_01K9Q8ZV7M4T2B6C8D0E1F3G5H",
    "number": 17,
    "state": "refused",
    "api_key_id": "apikey_01K9Q8ZV7M4T2B6C8D0E1F3G5H",
    "session_id": None,
    "created_at": "2026-01-31T14:30:00.000000Z",
    "updated_at": "2026-01-31T14:30:00.000000Z",
    "decided_at": "2026-01-31T16:00:00.000000Z",
    "decided_by": {"type": "user_actor", "user_id": "user_01K9Q8ZV7M4T2B6C8D0E1F3G5H"},
    "reason": "The price list is right: the offer ends in March.",
    "comments": [
        {
            "text": "Prices are in euros, without taxes.", "created_at": "2026-01-31T16:00:00.000000Z",
            "path": "/prices.md", "line": 1, "of": "proposed",
        }
    ],
    "changes": [
        {
            "operation": "modified", "path": "/prices.md", "new_path": None,
            "memory_id": "mem_01K9Q8ZX1A2B3C4D5E6F7G8H9J", "content": "Basic: 12 EUR\n", "outcome": "refused",
        }
    ],
}  # fmt: skip


class ListProposals(Filters):
    state: State | None = Field(None, description="Only proposals in this state.")
    limit: Limit = 20
    page: Page | None = None


class ProposedChange(Object):
    """What one call would have done to one memory."""

    operation: Literal["created", "modified", "renamed", "deleted"]
    path: str = Field(description="The path of the memory at the time of the call.")
    new_path: str | None = Field(description="Where the memory would have moved.")
    memory_id: str | None = Field(description="Null for a memory that did not exist.")
    content: str | None = Field(description="The whole text that the memory would have got. Null in lists.")
    outcome: Literal["merged", "merged_in_part", "refused", "replaced"] | None = Field(
        description="What a person decided; `replaced`: a later change of the merged proposal took its place. Null "
        "while the proposal is open, and for what had no effect any more."
    )


class ProposalComment(Object):
    """What a person wants the agent to know about its proposal."""

    text: str
    created_at: Timestamp
    path: str | None = Field(description="The memory on whose text it is. Null: it is on the proposal as a whole.")
    line: int | None = Field(
        description="The line. Null, too, if the memory had changed, so that the agent has not seen the text."
    )
    of: Literal["before", "proposed"] | None = Field(description="The text with that line.")


class Proposal(Object):
    """Changes by one agent that a path rule has held back until a person decides about them."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    type: Literal["proposal"]
    memory_store_id: str
    number: int = Field(description="The number in the answer to the call, counted by memory store.")
    state: State
    api_key_id: str = Field(description="The key that opened the proposal.")
    session_id: str | None = Field(description="The session whose changes these are.")
    created_at: Timestamp
    updated_at: Timestamp = Field(description="When the last change joined the proposal.")
    decided_at: Timestamp | None
    decided_by: Actor | None = Field(description="The person who decided, or the key that withdrew the proposal.")
    reason: str | None = Field(description="What the person wrote with the decision.")
    comments: list[ProposalComment] = Field(
        description="What people tell the agent about the proposal, oldest first. Their other comments are not here."
    )
    changes: list[ProposedChange] = Field(description="In the order of the calls.")


class ProposalPage(Object):
    data: list[Proposal] = Field(description="Newest first.")
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")
