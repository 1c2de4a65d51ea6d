"""What an export or import contains, as plain values: memories, proposals and path rules."""

from dataclasses import dataclass
from datetime import datetime

from memoryhub.pure.path_rules import PathRule


class Refused(ValueError):
    """The data cannot be imported. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a version: an actor in the API's form, with the name that the actor had then.

    `type` is `api_actor`, `session_actor`, `user_actor`, `service_account_actor`, or "" (unknown). `id` is visible
    ASCII, at most 128 characters.
    """

    type: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class BundledVersion:
    """One version. Facts are None if the source does not know them.

    `path` has the API's form (`/notes/todo.md`); "" if it was redacted. `content` is None for the operation `deleted`
    and for a `redacted` version. `at` is aware, in UTC, exact to the microsecond. `note` is the note of a deletion
    (None: it has none).
    """

    id: str | None
    number: int
    operation: str
    path: str
    content: str | None
    at: datetime | None
    author: Author | None
    redacted: bool = False
    note: str | None = None


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
    """A conversation about a memory, oldest comment first.

    It is about the lines `first` to `last` of version `number` (None: about the memory as a whole).
    """

    number: int
    first: int | None
    last: int | None
    resolved_at: datetime | None
    comments: tuple[BundledComment, ...]


@dataclass(frozen=True, slots=True)
class BundledMemory:
    """A memory and its versions, oldest first. A memory whose last version is `deleted` is in the trash.

    `path` is its current or last path. Older versions may be missing.
    """

    id: str | None
    path: str
    versions: tuple[BundledVersion, ...]
    threads: tuple[BundledThread, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledTalk:
    """A conversation about a proposal, oldest comment first.

    It is about a `line` in one memory or, if `change` is None, about the proposal as a whole. `change` is the number of
    a change of this memory, from 1. With `old`, the line is in the text of version `base` (None: no text). Otherwise it
    is in the proposed text, made from this text by the changes up to `number`.
    """

    change: int | None
    base: str | None
    number: int | None
    old: bool
    line: int | None
    resolved_at: datetime | None
    comments: tuple[BundledComment, ...]


@dataclass(frozen=True, slots=True)
class BundledOutcome:
    """The outcome of one change after a decision.

    `outcome` is one of OUTCOMES for its memory (None: there was nothing to change, or unknown). `edited`: the person
    wrote another text. `replaced`: later changes took the place of its "whole", of a "part", or of nothing (None).
    `became` is the version that the merge made.
    """

    outcome: str | None = None
    edited: bool = False
    replaced: str | None = None
    became: str | None = None


OUTCOMES = ("refused", "merged", "merged_in_part")


@dataclass(frozen=True, slots=True)
class BundledChange:
    """One change of a proposal. `memory` is the path of its memory, and `base` the text that the agent saw.

    Both are None for a new memory. `base` is also None for a text that no longer exists. `memory_id` and `base_id` are
    the ids of the memory and of the version, if the source names them. `content` is the whole new text, and `new_path`
    the new path; None means no change.
    """

    path: str
    memory: str | None
    base: str | None
    content: str | None
    new_path: str | None
    deletes: bool
    memory_id: str | None = None
    base_id: str | None = None
    outcome: BundledOutcome = BundledOutcome()


@dataclass(frozen=True, slots=True)
class BundledDecision:
    """The decision about a proposal: the state after it, the moment, and the name of the person ("": unknown)."""

    state: str
    at: datetime
    by: str
    reason: str


STATES = ("merged", "partly_merged", "refused", "withdrawn")


@dataclass(frozen=True, slots=True)
class BundledProposal:
    """A proposal, its agent, and what people said about it. `decision` is None while it is open.

    `number` is None if the source does not number it.
    """

    agent: Author
    opened_at: datetime
    changes: tuple[BundledChange, ...]
    number: int | None = None
    decision: BundledDecision | None = None
    talks: tuple[BundledTalk, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledRule:
    """A path rule, and the name of the agent or key that it is for.

    `sha256` is the digest of the text whose lines the rule protects (None: no lines, or no such text).
    """

    rule: PathRule
    name: str = ""
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """All data of one import. `source` names the format that it had."""

    source: str
    memories: tuple[BundledMemory, ...]
    store_name: str = ""
    description: str = ""
    proposals: tuple[BundledProposal, ...] = ()
    rules: tuple[BundledRule, ...] = ()
