"""What an export or import contains: memories with their versions and comments, and open proposals, as plain values."""

from dataclasses import dataclass
from datetime import datetime


class Refused(ValueError):
    """The data cannot be imported. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a version: an actor in the API's form, and the name that the actor had then.

    `type` is `api_actor`, `session_actor`, `user_actor`, `service_account_actor`, or "" for an unknown author. `id` is
    visible ASCII, at most 128 characters. `label` is any text.
    """

    type: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class BundledVersion:
    """One version. Facts are None if the source does not know them, for example in a plain text.

    `path` has the API's form (`/notes/todo.md`); it is `""` if it was redacted. `content` is None for the operation
    `deleted` and for a `redacted` version. `at` is aware, in UTC, exact to the microsecond.
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
class BundledComment:
    """One comment of a person. `author` is the person's name ("": unknown). A deleted comment has no text."""

    author: str
    text: str
    at: datetime
    edited_at: datetime | None = None
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BundledThread:
    """A conversation about a memory, oldest comment first. It is about the lines `first` to `last` of version `number`,
    or, if both are None, about the memory as a whole."""

    number: int
    first: int | None
    last: int | None
    resolved_at: datetime | None
    comments: tuple[BundledComment, ...]


@dataclass(frozen=True, slots=True)
class BundledMemory:
    """A memory and its versions, oldest first. A plain text has one version. A memory whose last version is `deleted`
    is in the trash.

    `path` is its current path or, in the trash, its last one. The first version's number is above 1 if retention
    removed older ones.
    """

    id: str | None
    path: str
    versions: tuple[BundledVersion, ...]
    threads: tuple[BundledThread, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledChange:
    """One change of an open proposal. `memory` is the path of the memory that it is about, and `base` the text that the
    agent saw; both are None for a new memory. `base` is also None for a text that no longer exists.

    `content` is the whole new text (None: the text stays), `new_path` the new path (None: the path stays).
    """

    path: str
    memory: str | None
    base: str | None
    content: str | None
    new_path: str | None
    deletes: bool


@dataclass(frozen=True, slots=True)
class BundledProposal:
    """An open proposal, and the agent that made it."""

    agent: Author
    opened_at: datetime
    changes: tuple[BundledChange, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """All data of one import. `source` names the format that it had."""

    source: str
    memories: tuple[BundledMemory, ...]
    store_name: str = ""
    description: str = ""
    proposals: tuple[BundledProposal, ...] = ()
