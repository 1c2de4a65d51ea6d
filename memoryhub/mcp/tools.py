"""The tools as a client lists them: names, descriptions, and the schemas of input and output."""

from typing import Any

from memoryhub.models import ProposalState
from memoryhub.pure.protocol import results

Json = dict[str, Any]

MEMORY, SEARCH, HISTORY, PROPOSALS = "memory", "search", "history", "proposals"

INSTRUCTIONS = """\
This server is one memory store: texts at paths under /memories that remain after this conversation, and that people \
read and correct. View /memories with the `memory` tool before you begin, store what will matter later, and correct \
what is no longer true instead of writing it a second time. `search` finds words in all memories; `history` lists the \
versions of a memory, and returns an earlier text of it. Some memories are changed only after a person has agreed: \
`proposals` lists your changes that wait, and what became of them. Nothing is lost: every change is a version, and \
every call is recorded.
"""


def _text(description: str, **more: Any) -> Json:
    return {"type": "string", "description": description, **more}


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required}


def _list(items: Json, description: str) -> Json:
    return {"type": "array", "items": items, "description": description}


def _hints(title: str, *, reads: bool, changes_memories: bool = True) -> Json:
    hints = {"title": title, "readOnlyHint": reads, "openWorldHint": False}
    return hints if reads else hints | {"destructiveHint": changes_memories, "idempotentHint": False}


NUMBER: Json = {"type": "integer"}
STRING: Json = {"type": "string"}
OR_NULL: Json = {"type": ["string", "null"]}
MORE = {"type": ["string", "null"], "description": "Send this as `page` for the next page; null: this is the last."}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "The most items of a page."}
PAGE = _text("The `next_page` of the previous answer.")
SPANS = _list(
    _object({"start": NUMBER, "end": NUMBER}, ["start", "end"]),
    "The matches: characters counted from 0, the end not included.",
)

_MEMORY_INPUT = _object(
    {
        "command": _text("What to do.", enum=list(results.COMMANDS)),
        "path": _text("Of `view`, `create`, `str_replace`, `insert` and `delete`: a path at or under /memories."),
        "view_range": {
            "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
            "description": "Of `view`, for a memory: the first and the last line, counted from 1; -1 is the end.",
        },
        "file_text": _text("Of `create`: the whole text of the new memory."),
        "old_str": _text("Of `str_replace`: the passage to replace, which must occur in the memory exactly once."),
        "new_str": _text("Of `str_replace`: the replacement; without it the passage is removed."),
        "insert_line": {"type": "integer", "description": "Of `insert`: insert after this line; 0 is the beginning."},
        "insert_text": _text("Of `insert`: the text to insert."),
        "old_path": _text("Of `rename`: the memory or directory to rename."),
        "new_path": _text("Of `rename`: its new path."),
    },
    ["command"],
)  # fmt: skip

_SEARCH_INPUT = _object(
    {
        "query": _text(
            'Words that must all occur in the path or the text, in any order; "several words" in quotes as one. '
            "Case and width of letters do not matter.",
            minLength=1, maxLength=500,
        ),
        "path_prefix": _text("A directory such as /memories/projects/, to search only there."),
        "limit": LIMIT,
        "page": PAGE,
    },
    ["query"],
)  # fmt: skip

_LINE = _object({"number": NUMBER, "text": STRING, "text_start": NUMBER, "matches": SPANS},
                ["number", "text", "text_start", "matches"])  # fmt: skip
_MATCH = _object(
    {
        "path": STRING,
        "memory_id": STRING,
        "memory_version_id": STRING,
        "updated_at": STRING,
        "path_matches": SPANS,
        "lines": _list(_LINE, "Lines with matches; of a long line a part, which begins at `text_start`."),
        "more_lines": NUMBER,
    },
    ["path", "memory_id", "memory_version_id", "updated_at", "path_matches", "lines", "more_lines"],
)
_SEARCH_OUTPUT = _object({"data": _list(_MATCH, "Memories by path."), "next_page": MORE}, ["data", "next_page"])

_HISTORY_INPUT = _object(
    {
        "path": _text("The path of a memory under /memories; of a deleted memory its last path."),
        "version": {"type": "integer", "minimum": 1, "description": "Return this version's text instead of a list."},
        "limit": LIMIT,
        "page": PAGE,
    },
    ["path"],
)
_VERSION = _object(
    {
        "number": NUMBER,
        "memory_version_id": STRING,
        "operation": _text("", enum=["created", "modified", "deleted"]),
        "path": OR_NULL,
        "content_size_bytes": {"type": ["integer", "null"]},
        "created_at": STRING,
        "created_by": {"type": ["object", "null"]},
        "redacted": {"type": "boolean"},
        "content": {"type": ["string", "null"], "description": "Only if one version was requested."},
    },
    ["number", "memory_version_id", "operation", "path", "content_size_bytes", "created_at", "created_by", "redacted"],
)
_PROPOSALS_INPUT = _object(
    {
        "number": {"type": "integer", "minimum": 1, "description": "Return this proposal with its texts."},
        "withdraw": {
            "type": "boolean", "default": False,
            "description": "Withdraw the proposal with this `number`, so that no person decides about it.",
        },
        "state": _text("List only proposals in this state.", enum=list(ProposalState)),
        "limit": LIMIT | {"maximum": 20},
        "page": PAGE,
    },
    [],
)  # fmt: skip
_CHANGE = _object(
    {
        "operation": _text("", enum=["created", "modified", "renamed", "deleted"]),
        "path": STRING,
        "new_path": OR_NULL,
        "outcome": {
            "type": ["string", "null"],
            "description": "By a person: `merged`, `merged_in_part` or `refused`; `replaced`: by a later change.",
        },
        "content": {"type": ["string", "null"], "description": "Only if one proposal was requested."},
    },
    ["operation", "path", "new_path", "outcome"],
)
_COMMENT = _object(
    {
        "text": STRING,
        "created_at": STRING,
        "path": {"type": ["string", "null"], "description": "Null: it is about the proposal as a whole."},
        "line": {"type": ["integer", "null"], "description": "Null, too, if you have not seen that text."},
        "of": {"type": ["string", "null"], "description": "The text with that line: `before`, or `proposed` by you."},
    },
    ["text", "created_at", "path", "line", "of"],
)
_PROPOSAL = _object(
    {
        "number": NUMBER,
        "state": _text("", enum=list(ProposalState)),
        "created_at": STRING,
        "updated_at": STRING,
        "decided_at": OR_NULL,
        "reason": {"type": ["string", "null"], "description": "What the person wrote with the decision."},
        "comments": _list(_COMMENT, "What people tell you about it."),
        "changes": _list(_CHANGE, "In the order of the calls."),
    },
    ["number", "state", "created_at", "updated_at", "decided_at", "reason", "comments", "changes"],
)
_PROPOSALS_OUTPUT = _object(
    {"data": _list(_PROPOSAL, "Proposals, the newest first."), "next_page": MORE}, ["data", "next_page"]
)

_HISTORY_OUTPUT = _object(
    {
        "memory_id": STRING,
        "path": STRING,
        "deleted": {"type": "boolean"},
        "data": _list(_VERSION, "Versions, the newest first."),
        "next_page": MORE,
    },
    ["memory_id", "path", "deleted", "data", "next_page"],
)

TOOLS: list[Json] = [
    {
        "name": MEMORY,
        "title": "Memory",
        "description": (
            "Reads and changes the memories of this store, which are texts at paths under /memories. `view` lists a "
            "directory or shows a memory with numbered lines; `create` creates a memory; `str_replace` and `insert` "
            "change one; `rename` moves a memory or a directory; `delete` removes one with everything in it."
        ),
        "inputSchema": _MEMORY_INPUT,
        "annotations": _hints("Memory", reads=False),
    },
    {
        "name": SEARCH,
        "title": "Search memories",
        "description": "Finds the memories whose path or text contains all given words, with the matching lines.",
        "inputSchema": _SEARCH_INPUT,
        "outputSchema": _SEARCH_OUTPUT,
        "annotations": _hints("Search memories", reads=True),
    },
    {
        "name": HISTORY,
        "title": "History of a memory",
        "description": "Lists the versions of a memory with who wrote each and when, or returns the text of one.",
        "inputSchema": _HISTORY_INPUT,
        "outputSchema": _HISTORY_OUTPUT,
        "annotations": _hints("History of a memory", reads=True),
    },
    {
        "name": PROPOSALS,
        "title": "Your proposals",
        "description": (
            "Lists your changes that wait for a person's decision or were decided about, with the reason; returns one "
            "with its texts; or withdraws one that is open."
        ),
        "inputSchema": _PROPOSALS_INPUT,
        "outputSchema": _PROPOSALS_OUTPUT,
        "annotations": _hints("Your proposals", reads=False, changes_memories=False),
    },
]
