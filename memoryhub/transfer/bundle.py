"""The content of an export or import: memories with their versions, as plain values."""

from dataclasses import dataclass
from datetime import datetime


class Refused(ValueError):
    """The data cannot be imported; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a version: the API's form of an actor, and the actor's name at that time.

    `type` is `api_actor`, `session_actor`, `user_actor`, `service_account_actor`, or "" for an unknown author. `id` is
    visible ASCII of at most 128 characters; `label` is any text.
    """

    type: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class BundledVersion:
    """One version; facts that a plain text at a path lacks are None.

    `path` is the API's form (`/notes/todo.md`), or `""` if it was redacted. `content` is None for the operation
    `deleted` and for a `redacted` version. `at` is aware UTC, to the microsecond.
    """

    id: str | None
    number: int
    operation: str
    path: str
    content: str | None
    at: datetime | None
    author: Author | None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class BundledMemory:
    """A memory and its versions, oldest first. A plain text has one version; after a `deleted` one it is in the trash.

    `path` is its current or last path. The first number is above 1 if retention removed the oldest versions.
    """

    id: str | None
    path: str
    versions: tuple[BundledVersion, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """The whole import; `source` names its format."""

    source: str
    memories: tuple[BundledMemory, ...]
    store_name: str = ""
    description: str = ""
