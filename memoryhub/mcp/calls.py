"""Calls of the memory tool by MCP: each is one command, like a call at the tool's own endpoint."""

import secrets
from typing import Any

from memoryhub import tool
from memoryhub.actions.core import tree
from memoryhub.actions.memories import calls, refusals
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.machines.errors import REUSED, Problem, reused
from memoryhub.mcp.messages import INVALID_PARAMS, Refused
from memoryhub.tool import ToolUse

Json = dict[str, Any]

TOOL_USE_KEY = "claudecode/toolUseId"
"""The name in the metadata under which Claude Code sends the id of a call's `tool_use` block. A call that is repeated
has the same id."""

LONGEST_TOKEN = 128


def token_of(meta: Json, key: str | None) -> str | None:
    """Return the token by which a repeated call is recognised: the Idempotency-Key (`key`), else the id of the tool_use
    block.

    Return None if both are missing. The `id` of a JSON-RPC request is no such token: clients count from 0 again
    whenever they start.
    """
    if key is not None:
        return f"{key}#0"
    block = meta.get(TOOL_USE_KEY)
    return block if isinstance(block, str) and 1 <= len(block) <= LONGEST_TOKEN else None


def memory(store_id: str, arguments: Json, asked: Asked, token: str | None) -> Json:
    """Run one command and return its result. An error of the command is a result too."""
    tool_use = ToolUse.of(token or f"mcp_{secrets.token_hex(13)}", arguments)
    try:
        result = tool.execute(
            store_id,
            tool_use,
            caller=asked.caller,
            at=asked.at,
            session=asked.session,
            elapsed=asked.elapsed,
            door=asked.door,
        )
    except calls.NotRun as error:
        raise Problem.not_run(error) from None
    except calls.TokenReused as error:
        used = str(error)
        refusals.note(asked.caller, Refusal(store_id, 422, REUSED, asked.session, used), door=asked.door, at=asked.at)
        raise Refused(INVALID_PARAMS, reused(used)) from None
    except tree.NoSuchStore:
        raise Problem.no_store() from None
    return answer(result.content, is_error=result.is_error)


def answer(text: str, *, is_error: bool = False, structured: Json | None = None) -> Json:
    """Return the result of a tool call. `text` is for the model; `structured` is the same content as a value."""
    result: Json = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return result if structured is None else result | {"structuredContent": structured}
