"""Schemas that every endpoint shares: its errors, and the base classes of bodies, queries and objects."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE_REQUEST = "req_01K9Q8ZV7M4T2B6C8D0E1F3G5H"


class Body(BaseModel):
    """A JSON object of a request: types are strict, and unknown keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Filters(BaseModel):
    """The query of a request; unknown parameters are ignored."""

    model_config = ConfigDict(extra="ignore", populate_by_name=False)


class Object(BaseModel):
    """A JSON object of an answer; later releases may add keys."""


class WhatWentWrong(Object):
    type: str = Field(description="The kind of error, for programs.")
    message: str = Field(description="One sentence for people. Its words may change.")


class Error(Object):
    """The JSON object around the error of every refused request."""

    type: Literal["error"]
    error: WhatWentWrong
    request_id: str = Field(description="The same as in the header `request-id`.")


class PathConflict(WhatWentWrong):
    conflicting_path: str | None = Field(None, description="The path that is already taken.")
    conflicting_memory_id: str | None = Field(None, description="The memory that already has the path.")


class Conflict(Object):
    """The JSON object around the error of a request that conflicts with the current state."""

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
    """Return {status: schema} of an operation's responses: `good` at 200, and the errors with the statuses `more`.

    Errors that every operation can have are left out. The status 507 is added if 429 is in `more`: an operation whose
    calls are counted can also be refused because the audit is full.
    """
    more += (507,) if 429 in more else ()
    return {200: good} | {status: Conflict if status == 409 else Error for status in more}
