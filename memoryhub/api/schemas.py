"""The shapes that every endpoint shares: its errors, and what bodies, queries and objects are made of."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE_REQUEST = "req_01K9Q8ZV7M4T2B6C8D0E1F3G5H"


class Body(BaseModel):
    """A JSON object of a request: its types are strict, and keys that nobody knows are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Filters(BaseModel):
    """The query of a request: text; parameters that nobody knows are passed over."""

    model_config = ConfigDict(extra="ignore", populate_by_name=False)


class Object(BaseModel):
    """A JSON object of an answer; it may get further keys in later releases."""


class WhatWentWrong(Object):
    type: str = Field(description="What kind of error it is; programs tell errors apart by this.")
    message: str = Field(description="One sentence for people. Its words may change.")


class Error(Object):
    """The envelope in which every refused request is told."""

    type: Literal["error"]
    error: WhatWentWrong
    request_id: str = Field(description="The same as in the header `request-id`.")


class PathConflict(WhatWentWrong):
    conflicting_path: str | None = Field(None, description="The path that stands in the way.")
    conflicting_memory_id: str | None = Field(None, description="The memory that stands in the way.")


class Conflict(Object):
    """The envelope of a request that what is there stands against."""

    type: Literal["error"]
    error: PathConflict
    request_id: str


Timestamp = Annotated[
    str,
    Field(
        description="A time of RFC 3339 in UTC.",
        json_schema_extra={"format": "date-time", "examples": ["2026-01-31T14:30:00.000000Z"]},
    ),
]


def answers(good: Any, *more: int) -> dict[Any, Any]:
    """The answers of an operation: its schema at 200, and errors beyond those that every operation may give.

    `more`: 409 where something may stand in the way, 429 where calls are counted (then 507 too), 422 and so on.
    """
    more += (507,) if 429 in more else ()
    return {200: good} | {status: Conflict if status == 409 else Error for status in more}
