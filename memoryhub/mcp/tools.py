"""The three tools as a client lists them: names, descriptions, and the schemas of input and output."""

from typing import Any

from memoryhub.protocol import results

Json = dict[str, Any]

MEMORY, SEARCH, HISTORY = "memory", "search", "history"

INSTRUCTIONS = """\
This server is one memory store: texts at paths beneath /memories that stay when this conversation is over, and that \
people read and correct. Look at /memories with the `memory` tool before you begin, keep what will matter later, and \
change what is not true any more instead of writing it a second time. `search` finds a word in all memories; `history` \
tells how a memory came to be what it is, and gives an earlier text of it. Nothing is lost: every change is a version, \
and every call is noted.
"""


def _text(description: str, **more: Any) -> Json:
    return {"type": "string", "description": description, **more}


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required}


def _list(items: Json, description: str) -> Json:
    return {"type": "array", "items": items, "description": description}


def _hints(title: str, *, reads: bool) -> Json:
    hints = {"title": title, "readOnlyHint": reads, "openWorldHint": False}
    return hints if reads else hints | {"destructiveHint": True, "idempotentHint": False}


NUMBER: Json = {"type": "integer"}
STRING: Json = {"type": "string"}
OR_NULL: Json = {"type": ["string", "null"]}
MORE = {"type": ["string", "null"], "description": "Give this as `page` for what follows; null: there is no more."}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "At most so many at once."}
PAGE = _text("The `next_page` of the answer before, to go on from there.")
SPANS = _list(
    _object({"start": NUMBER, "end": NUMBER}, ["start", "end"]),
    "Where it stands: characters counted from 0, the end not included.",
)

_MEMORY_INPUT = _object(
    {
        "command": _text("What to do.", enum=list(results.COMMANDS)),
        "path": _text("Of `view`, `create`, `str_replace`, `insert` and `delete`: a path at or beneath /memories."),
        "view_range": {
            "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
            "description": "Of `view`, for a memory: the first and the last line, counted from 1; -1 is the end.",
        },
        "file_text": _text("Of `create`: the whole text of the new memory."),
        "old_str": _text("Of `str_replace`: the passage to replace, which must stand in the memory exactly once."),
        "new_str": _text("Of `str_replace`: what stands there instead; without it the passage is removed."),
        "insert_line": {"type": "integer", "description": "Of `insert`: after which line; 0 is the beginning."},
        "insert_text": _text("Of `insert`: the text to put in."),
        "old_path": _text("Of `rename`: what is renamed, a memory or a directory."),
        "new_path": _text("Of `rename`: where it goes."),
    },
    ["command"],
)  # fmt: skip

_SEARCH_INPUT = _object(
    {
        "query": _text(
            'Words that must all stand in the path or the text, in any order; "several words" in quotes as one. '
            "Case and width of letters do not matter.",
            minLength=1, maxLength=500,
        ),
        "path_prefix": _text("A directory such as /memories/projects/, to look there alone."),
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
        "lines": _list(_LINE, "Lines with what was found; of a long one a part, which begins at `text_start`."),
        "more_lines": NUMBER,
    },
    ["path", "memory_id", "memory_version_id", "updated_at", "path_matches", "lines", "more_lines"],
)
_SEARCH_OUTPUT = _object({"data": _list(_MATCH, "Memories by path."), "next_page": MORE}, ["data", "next_page"])

_HISTORY_INPUT = _object(
    {
        "path": _text("The path of a memory beneath /memories; of a deleted one the path that it had last."),
        "version": {"type": "integer", "minimum": 1, "description": "Give the text of this version instead of a list."},
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
        "content": {"type": ["string", "null"], "description": "Only where one version was asked for."},
    },
    ["number", "memory_version_id", "operation", "path", "content_size_bytes", "created_at", "created_by", "redacted"],
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
            "Reads and changes the memories of this store, which are texts at paths beneath /memories. `view` lists a "
            "directory or shows a memory with numbered lines; `create` makes a memory; `str_replace` and `insert` "
            "change one; `rename` moves a memory or a directory; `delete` removes one with all beneath it."
        ),
        "inputSchema": _MEMORY_INPUT,
        "annotations": _hints("Memory", reads=False),
    },
    {
        "name": SEARCH,
        "title": "Search memories",
        "description": "Finds the memories whose path or text has some words, with the lines that have them.",
        "inputSchema": _SEARCH_INPUT,
        "outputSchema": _SEARCH_OUTPUT,
        "annotations": _hints("Search memories", reads=True),
    },
    {
        "name": HISTORY,
        "title": "History of a memory",
        "description": "Lists the versions of a memory with who wrote each and when, or gives the text of one.",
        "inputSchema": _HISTORY_INPUT,
        "outputSchema": _HISTORY_OUTPUT,
        "annotations": _hints("History of a memory", reads=True),
    },
]
