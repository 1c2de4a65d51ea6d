"""Describes the endpoint of the memory tool's calls in the OpenAPI document."""

from typing import Any

Json = dict[str, Any]

_RESULT = {
    "type": "tool_result",
    "tool_use_id": "toolu_01",
    "content": "File created successfully at: /memories/todo.md",
    "is_error": False,
}
_USE = {
    "type": "tool_use",
    "id": "toolu_01",
    "name": "memory",
    "input": {"command": "create", "path": "/memories/todo.md", "file_text": "- call Ada back\n"},
}
_VIEW = {"type": "tool_use", "id": "toolu_02", "name": "memory", "input": {"command": "view", "path": "/memories"}}
_LISTING = (
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
    "4.0K\t/memories\n16\t/memories/todo.md"
)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_INPUT: Json = {
    "type": "object",
    "description": "The call as the model made it. `command` is `view` (`path`, `view_range`), `create` (`path`, "
    "`file_text`), `str_replace` (`path`, `old_str`, `new_str`), `insert` (`path`, `insert_line`, `insert_text`), "
    "`delete` (`path`) or `rename` (`old_path`, `new_path`). An invalid input is an error of the tool and not of "
    "HTTP: 200 with `is_error`.",
    "properties": {
        "command": {"examples": ["view", "create", "str_replace", "insert", "delete", "rename"]},
        "path": {"examples": ["/memories/todo.md"]},
        "view_range": {"examples": [[1, 20]], "description": "First and last line, from 1; -1 for the end."},
        "file_text": {"examples": ["- call Ada back\n"]},
        "old_str": {"examples": ["Ada"]},
        "new_str": {"examples": ["Grace"], "description": "Absent: `old_str` is deleted."},
        "insert_line": {"examples": [0], "description": "After this line; 0 is the top."},
        "insert_text": {"examples": ["- buy milk\n"]},
        "old_path": {"examples": ["/memories/todo.md"]},
        "new_path": {"examples": ["/memories/done.md"]},
    },
}

TOOL_SCHEMAS: Json = {
    "ToolUse": {
        "type": "object",
        "description": "A block of the Messages API.",
        "required": ["type", "id", "name", "input"],
        "properties": {
            "type": {"const": "tool_use"},
            "id": {"type": "string", "minLength": 1, "maxLength": 128},
            "name": {"const": "memory"},
            "input": _INPUT,
        },
        "examples": [_USE],
    },
    "AssistantMessage": {
        "type": "object",
        "description": "A message as the Messages API returned it, with 1 to 100 `tool_use` blocks named `memory`, "
        "whose ids differ. Other blocks are ignored.",
        "required": ["role", "content"],
        "properties": {
            "role": {"const": "assistant"},
            "content": {
                "type": "array",
                "items": {"type": "object", "properties": {"type": {"type": "string"}}},
                "contains": _ref("ToolUse"),
            },
        },
        "examples": [{"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, _VIEW]}],
    },
    "ToolResult": {
        "type": "object",
        "description": "The block to send back to the model.",
        "required": ["type", "tool_use_id", "content", "is_error"],
        "properties": {
            "type": {"const": "tool_result"},
            "tool_use_id": {"type": "string"},
            "content": {"type": "string", "description": "The tool's answer, or its error, in words for the model."},
            "is_error": {"type": "boolean"},
        },
        "examples": [_RESULT],
    },
    "UserMessage": {
        "type": "object",
        "description": "The message to send back to the model: one result for each memory block, in their order.",
        "required": ["role", "content"],
        "properties": {"role": {"const": "user"}, "content": {"type": "array", "items": _ref("ToolResult")}},
        "examples": [{"role": "user", "content": [_RESULT]}],
    },
}

_ANSWERS: Json = {
    "block": {"summary": "To a block", "value": _RESULT},
    "message": {
        "summary": "To a message",
        "value": {"role": "user", "content": [_RESULT | {"tool_use_id": "toolu_02", "content": _LISTING}]},
    },
    "error": {
        "summary": "An error of the tool",
        "value": {
            "type": "tool_result",
            "tool_use_id": "toolu_03",
            "content": "The path /memories/gone.md does not exist. Please provide a valid path.",
            "is_error": True,
        },
    },
}

TOOL_CALLS: Json = {
    "parameters": [{"$ref": "#/components/parameters/Idempotency-Key"}],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"anyOf": [_ref("ToolUse"), _ref("AssistantMessage")]},
                "examples": {
                    "block": {"summary": "A tool_use block", "value": _USE},
                    "message": {
                        "summary": "An assistant message",
                        "value": {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, _VIEW]},
                    },
                },
            }
        },
    },
    "responses": {
        200: {
            "headers": {
                "Idempotent-Replay": {"$ref": "#/components/headers/Idempotent-Replay"},
                "Memoryhub-Usage": {"$ref": "#/components/headers/Memoryhub-Usage"},
            },
            "content": {
                "application/json": {
                    "schema": {"anyOf": [_ref("ToolResult"), _ref("UserMessage")]},
                    "examples": _ANSWERS,
                }
            },
        },
        422: {},
        429: {},
        507: {},
    },
}
"""The operation's `openapi_extra`."""
