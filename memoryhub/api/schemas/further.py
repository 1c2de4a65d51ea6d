"""Schemas of search, comparison, blame, restoring and the audit in the API."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from memoryhub.api.queries import Limit, Moment, Page, Whole
from memoryhub.api.schemas import Body, Filters, Object, Timestamp
from memoryhub.api.schemas.memories import MEMORY_EXAMPLE, Actor, Memory
from memoryhub.models import Door

_STORE, _NEW, _OLD = (
    "memstore_01K9Q8ZV7M4T2B6C8D0E1F3G5H", "memver_01K9Q92C3D5E7F9G1H3J5K7M9N", "memver_01K9Q8ZX1A2B3C4D5E6F7G8H9J"
)  # fmt: skip
_LINES: list[Any] = [
    {"kind": "removed", "old_number": 1, "new_number": None, "text": "- call Ada back"},
    {"kind": "added", "old_number": None, "new_number": 1, "text": "- call Grace back"},
]
_DIFF: dict[str, Any] = {
    "type": "memory_version_diff", "memory_store_id": _STORE, "memory_version_id": _NEW, "against": _OLD,
    "old_path": "/todo.md", "new_path": "/todo.md", "identical": False, "added_lines": 1, "removed_lines": 1,
    "bounded": False,
    "truncated": False,
    "next_after": None,
    "hunks": [{"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": _LINES}],
    "unified": "--- /todo.md\n+++ /todo.md\n@@ -1 +1 @@\n-- call Ada back\n+- call Grace back\n",
}  # fmt: skip
_MATCH: dict[str, Any] = {
    "type": "memory_match",
    "memory": MEMORY_EXAMPLE,
    "path_matches": [],
    "lines": [{"number": 1, "text": "- call Grace back", "text_start": 0, "matches": [{"start": 7, "end": 12}]}],
    "more_lines": 0,
}  # fmt: skip
_ENTRY: dict[str, Any] = {
    "type": "audit_entry", "memory_store_id": _STORE, "at": "2026-01-31T14:30:00.000000Z",
    "input": {"command": "view", "path": "/memories/todo.md"}, "input_in_part": None, "message": None, "seq": 7,
    "actor_kind": "key", "actor_id": "apikey_01K9Q8ZV7M4T2B6C8D0E1F3G5H",
    "author_id": "agent_01K9Q8ZV7M4T2B6C8D0E1F3G5H",
    "label": "Support bot", "session": None, "door": "tool", "command": "view", "path": "/todo.md", "new_path": None,
    "memory": "mem_01K9Q8ZX1A2B3C4D5E6F7G8H9J", "version": _NEW, "ok": True, "duration": 812, "group": None,
    "token": "toolu_01", "replay_of": None, "note": None, "first_line": 1, "last_line": 2, "cut": False,
    "digest": None, "key_name": "a1b2c3d4", "previous_hash": "5d" * 32, "hash": "7e" * 32,
}  # fmt: skip

_BLAME: dict[str, Any] = {
    "type": "memory_blame", "memory_store_id": _STORE, "memory_id": "mem_01K9Q8ZX1A2B3C4D5E6F7G8H9J",
    "memory_version_id": _NEW, "content": "- call Grace back\n", "bounded": False,
    "lines": [
        {
            "first_line": 1, "last_line": 1, "known": True, "number": 2, "memory_version_id": _NEW,
            "created_at": "2026-01-31T15:00:00.000000Z",
            "created_by": {"type": "api_actor", "api_key_id": "apikey_01K9Q8ZV7M4T2B6C8D0E1F3G5H"},
        }
    ],
}  # fmt: skip


class SearchMemories(Filters):
    query: str = Field(
        min_length=1, max_length=500,
        description='Words that must all occur in the path or the text, in any order; `"several words"` as a phrase.',
    )  # fmt: skip
    path_prefix: str | None = Field(
        None, min_length=1, max_length=1100, description="Only memories under this directory; it ends with `/`."
    )
    limit: Limit = 20
    page: Page | None = None


class Place(Object):
    """A range of code points, counted from 0. The `end` is not included."""

    start: int
    end: int


class FoundLine(Object):
    number: int = Field(description="Counted from 1.")
    text: str = Field(description="The line, or a part of it if it is longer than 320 code points.")
    text_start: int = Field(description="Where in the line `text` begins, in code points.")
    matches: list[Place] = Field(description="The matches in `text`.")


class MemoryMatch(Object):
    """A memory that contains all words of a search."""

    type: Literal["memory_match"]
    memory: Memory = Field(description="The memory in its basic view.")
    path_matches: list[Place] = Field(description="The matches in the path.")
    lines: list[FoundLine] = Field(description="At most 5 lines, among them the first one of every word.")
    more_lines: int = Field(description="How many further lines contain one of the words, counted up to 100 per word.")


class MatchPage(Object):
    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_MATCH], "next_page": None}]})
    data: list[MemoryMatch] = Field(
        description="Ordered by path. A page may have fewer than `limit`, even none, although more follow."
    )
    next_page: str | None


class CompareVersions(Filters):
    against: str | None = Field(
        None, min_length=1, max_length=128,
        description="The memory version to compare with; by default the previous one of the same memory.",
    )  # fmt: skip
    context: Whole = Field(3, ge=0, le=100, description="How many unchanged lines to show around each change.")
    after: Whole = Field(
        0,
        ge=0,
        le=100_000_000,
        description="How many lines of the comparison to skip: `next_after` of an answer.",
    )


class DiffLine(Object):
    kind: Literal["same", "removed", "added"]
    old_number: int | None
    new_number: int | None
    text: str


class Hunk(Object):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[DiffLine]


class VersionDiff(Object):
    """The changes from one memory version to another. A deleted version counts as an empty text."""

    model_config = ConfigDict(json_schema_extra={"examples": [_DIFF]})
    type: Literal["memory_version_diff"]
    memory_store_id: str
    memory_version_id: str
    against: str | None = Field(
        description="Null: there is no earlier version (any more), and all lines count as added. Retention may have"
        " removed earlier versions of a version whose operation is not `created`."
    )
    old_path: str | None
    new_path: str
    identical: bool
    added_lines: int
    removed_lines: int
    bounded: bool = Field(description="A part is shown as wholly replaced: comparing its lines was too much work.")
    truncated: bool = Field(description="More lines follow than one answer has: ask again with `after`=`next_after`.")
    next_after: int | None = Field(description="Null: no more lines follow.")
    hunks: list[Hunk]
    unified: str = Field(description="The same in the format of `diff -u`; empty if the texts are identical.")


class BlameMemory(Filters):
    memory_version_id: str | None = Field(
        None, min_length=1, max_length=128, description="An earlier version of the memory; the newest if left out."
    )


class BlamedLines(Object):
    """Consecutive lines that one memory version introduced."""

    first_line: int = Field(description="Counted from 1.")
    last_line: int
    known: bool = Field(
        description="False: this version introduced them, or an earlier one that was redacted, removed or not examined."
    )
    number: int = Field(description="The number of the version.")
    memory_version_id: str | None
    created_at: Timestamp | None
    created_by: Actor | None = Field(description="Null: the hub itself, or its author is not known, or only by a name.")


class MemoryBlame(Object):
    """The origin of each line of a text."""

    model_config = ConfigDict(json_schema_extra={"examples": [_BLAME]})
    type: Literal["memory_blame"]
    memory_store_id: str
    memory_id: str
    memory_version_id: str
    content: str
    bounded: bool = Field(description="Some parts count as wholly new: comparing their lines was too much work.")
    lines: list[BlamedLines]


class RestoreVersion(Body):
    path: str | None = Field(
        None, max_length=1100, description="The new path of a deleted memory; by default the version's path."
    )


class ListEntries(Filters):
    command: str | None = Field(None, pattern="^[a-z_]{1,64}$")
    outcome: Literal["ok", "error"] | None = None
    door: Door | None = None
    session_id: str | None = Field(None, min_length=1, max_length=128)
    actor_id: str | None = Field(None, min_length=1, max_length=128, description="An agent, or a person.")
    memory_id: str | None = Field(None, min_length=1, max_length=128)
    path: str | None = Field(
        None,
        pattern="^/",
        max_length=1100,
        description="At this path; with a final `/` this directory and everything under it.",
    )
    created_at_gte: Moment | None = Field(None, alias="created_at[gte]")
    created_at_lte: Moment | None = Field(None, alias="created_at[lte]")
    view: Literal["basic", "full"] = Field("basic", description="`full`: with `input` and `message`, at most 20.")
    limit: Limit = 20
    page: Page | None = None


class InPart(Object):
    """An input of which the audit stores only the beginning."""

    size_bytes: int = Field(description="Bytes of the whole, as ASCII-escaped JSON.")


class AuditEntryObject(Object):
    """One act in the chain of a memory store, or a call that was refused."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ENTRY]})
    type: Literal["audit_entry"]
    memory_store_id: str
    seq: int = Field(description="Its place in the chain, counted from 1.")
    at: Timestamp
    actor_kind: str = Field(description="`key`, `user`, `policy` or `system`.")
    actor_id: str | None
    author_id: str | None = Field(description="The agent behind a key, else the same as `actor_id`.")
    label: str | None = Field(description="The name of the actor at that time.")
    session: str | None
    door: str
    command: str | None
    path: str | None
    new_path: str | None
    memory: str | None
    version: str | None
    ok: bool
    message: str | None = Field(
        description="Errors and listings (the first lines and the size of a long one); null in a basic view, "
        "and where the answer shows a version from line to line."
    )
    input: Any = Field(description="The request; null in a basic view.")
    input_in_part: InPart | None = Field(
        description="Size of the whole input, if a call changed nothing and only a part is stored."
    )
    duration: int = Field(description="Microseconds.")
    group: str | None
    token: str | None
    replay_of: int | None
    note: str | None
    first_line: int | None
    last_line: int | None
    cut: bool | None
    digest: str | None = Field(description="SHA-256 of the commitments to the memory versions that it made.")
    key_name: str
    previous_hash: str
    hash: str


class EntryPage(Object):
    model_config = ConfigDict(json_schema_extra={"examples": [{"data": [_ENTRY | {"input": None}], "next_page": None}]})
    data: list[AuditEntryObject] = Field(
        description="Newest first. A page may have fewer than `limit`, even none, although more follow."
    )
    next_page: str | None
