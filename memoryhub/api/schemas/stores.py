"""Schemas of memory stores in the API."""

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from memoryhub.actions.stores.api import MOST_PAIRS
from memoryhub.api.queries import Flag, Limit, Moment, Page
from memoryhub.api.schemas import Body, Filters, Object, Timestamp
from memoryhub.api.sentences import SAID

_ID = "memstore_01K9Q8ZV7M4T2B6C8D0E1F3G5H"
_EXAMPLE: dict[str, Any] = {
    "type": "memory_store",
    "id": _ID,
    "name": "Research notes",
    "description": "What the research agents found out.",
    "metadata": {"team": "research"},
    "created_at": "2026-01-31T14:30:00.000000Z",
    "updated_at": "2026-01-31T14:30:00.000000Z",
    "archived_at": None,
}


def _no_controls(value: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise PydanticCustomError(SAID, "must have no control characters")
    return value


Name = Annotated[
    str,
    Field(min_length=1, max_length=255, json_schema_extra={"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}),
    AfterValidator(_no_controls),
]
Description = Annotated[str, Field(max_length=1024)]
MetadataKey = Annotated[str, Field(min_length=1, max_length=64)]
MetadataValue = Annotated[str, Field(max_length=512)]


class CreateStore(Body):
    """A memory store to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Research notes", "metadata": {"team": "research"}}]}
    )
    name: Name = Field(description="1 to 255 characters without control characters.")
    description: Description | None = Field(None, description="Up to 1,024 characters.")
    metadata: dict[MetadataKey, MetadataValue] | None = Field(
        None, max_length=MOST_PAIRS, description="Up to 16 pairs for your own use."
    )


class UpdateStore(Body):
    """The changes to a memory store."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"description": "", "metadata": {"team": None, "owner": "Ada"}}]}
    )
    name: Name | None = Field(None, description="1 to 255 characters without control characters.")
    description: Description | None = Field(None, description='Up to 1,024 characters; `""` clears it.')
    metadata: dict[MetadataKey, MetadataValue | None] | None = Field(
        None, description="Pairs to set, or to remove with null; at most 16 may remain."
    )


class ListStores(Filters):
    """Filters of a list of memory stores."""

    limit: Limit = 20
    page: Page | None = None
    include_archived: Flag = Field(False, description="`true`: archived memory stores too.")
    created_at_gte: Moment | None = Field(None, alias="created_at[gte]", description="Made at this time or later.")
    created_at_lte: Moment | None = Field(None, alias="created_at[lte]", description="Made at this time or earlier.")


class Store(Object):
    """A memory store: a tree of memories."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    type: Literal["memory_store"]
    id: str
    name: str
    description: str = Field(description='`""` if there is none.')
    metadata: dict[str, str]
    created_at: Timestamp
    updated_at: Timestamp = Field(
        description="When its name, description or metadata last changed, or it was archived."
    )
    archived_at: Timestamp | None


class StorePage(Object):
    """A page of memory stores."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_EXAMPLE], "next_page": None}]})
    data: list[Store]
    next_page: str | None = Field(description="The cursor of the next page, for `page`; null: this is the last.")


class DeletedStore(Object):
    """A memory store that was deleted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": "memory_store_deleted", "id": _ID}]})
    type: Literal["memory_store_deleted"]
    id: str
