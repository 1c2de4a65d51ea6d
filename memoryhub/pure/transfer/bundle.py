"""What an export or import contains, as plain values: memories with their versions and comments, proposals with the
decisions about them, and path rules."""

from dataclasses import dataclass
from datetime import datetime

from memoryhub.pure.path_rules import PathRule


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
    """One version. A fact that the source does not know is None.

    `path` has the API's form (`/notes/todo.md`); it is "" if it was redacted. `content` is None for the operation
    `deleted` and for a `redacted` version. `at` is aware, in UTC, exact to the microsecond. `note` is the note of a
    deletion (None: it has none).
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

    It is about the lines `first` to `last` of version `number`. If `first` and `last` are None, it is about the memory
    as a whole.
    """

    number: int
    first: int | None
    last: int | None
    resolved_at: datetime | None
    comments: tuple[BundledComment, ...]


@dataclass(frozen=True, slots=True)
class BundledMemory:
    """A memory and its versions, oldest first. A memory whose last version is `deleted` is in the trash.

    `path` is its current path or, in the trash, its last path. Its oldest versions may be missing, if retention removed
    them.
    """

    id: str | None
    path: str
    versions: tuple[BundledVersion, ...]
    threads: tuple[BundledThread, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledTalk:
    """A conversation about a proposal, oldest comment first.

    If `change` is None, the conversation is about the proposal as a whole. Otherwise it is about a line of one memory:
    `line` is the number of the line, and `change` the number (from 1) of a change of the proposal to this memory.

    If `old` is true, the line is in the memory's text before the changes. If `old` is false, the line is in the
    proposed text: the text of the memory's version `base` (None: the memory was new) with the proposal's changes to
    this memory, up to change number `number`.
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

    `outcome` is what the decision did to the memory of the change: one of OUTCOMES. It is None if the memory already
    had the change, or if the outcome is not known. `edited`: the person wrote another text for the memory. `replaced`
    says how much of this change was replaced by later changes: "whole", "part" or None. `became` is the id of
    the memory's version that the merge of the proposal made.
    """

    outcome: str | None = None
    edited: bool = False
    replaced: str | None = None
    became: str | None = None


OUTCOMES = ("refused", "merged", "merged_in_part")


@dataclass(frozen=True, slots=True)
class BundledChange:
    """One change of a proposal.

    `path` is the path of the changed memory when the agent proposed the change, and `memory` its path at the export.
    `base` is the memory's text that the agent saw (None: it no longer exists). For a new memory, `memory` and `base`
    are None. `memory_id` is the id of the memory, and `base_id` the id of the version with the text `base`; each is
    None if the source does not name it. `content` is the whole new text (None: the text stays), and `new_path` the new
    path (None: the path stays).
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
    """The decision about a proposal.

    `state` is the state that the decision brought the proposal into, `at` the moment of the decision, and `by` the name
    of the person who decided ("": unknown).
    """

    state: str
    at: datetime
    by: str
    reason: str


STATES = ("merged", "partly_merged", "refused", "withdrawn")


@dataclass(frozen=True, slots=True)
class BundledProposal:
    """A proposal, the agent that made it, and what people said about it. `decision` is None while the proposal is open.

    `number` is None if the source does not number its proposals.
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

    `sha256` is the digest of the text whose lines the rule protects. It is None if the rule protects no lines, or if
    that text no longer exists.
    """

    rule: PathRule
    name: str = ""
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """All data of one import. `source` is the name of the format that was read."""

    source: str
    memories: tuple[BundledMemory, ...]
    store_name: str = ""
    description: str = ""
    proposals: tuple[BundledProposal, ...] = ()
    rules: tuple[BundledRule, ...] = ()
