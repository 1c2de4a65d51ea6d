"""What an export carries and an import brings: memories with their versions, as plain values."""

from dataclasses import dataclass
from datetime import datetime


class Refused(ValueError):
    """What was brought is not taken; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a version: the API's form of an actor, and what they were called then.

    `type` is `api_actor`, `session_actor`, `user_actor`, `service_account_actor`, or "" where nobody is known. `id` is
    visible ASCII of at most 128 characters; `label` is any text.
    """

    type: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class BundledVersion:
    """One version; what a plain text at a path does not tell is null.

    `path` is the API's form (`/notes/todo.md`), `""` where a redaction took it. `content` is null where the operation
    was `deleted` and where the version is `redacted`. `at` is aware UTC, to the microsecond.
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
    """A memory and its versions, oldest first: one for a plain text; where the last is `deleted`, it is in the trash.

    `path` is where it is, or was last. The first number is above 1 where retention has removed the oldest versions.
    """

    id: str | None
    path: str
    versions: tuple[BundledVersion, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything that was brought; `source` says for people where it comes from."""

    source: str
    memories: tuple[BundledMemory, ...]
    store_name: str = ""
    description: str = ""
