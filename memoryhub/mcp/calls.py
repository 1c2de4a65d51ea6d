"""Calls of the memory tool: each is one command, exactly as at the tool's own endpoint."""

import json
import secrets
from typing import Any

from memoryhub import tool
from memoryhub.actions.core import tree
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.api_requests import Asked
from memoryhub.machines.errors import Problem
from memoryhub.mcp.messages import INVALID_PARAMS, Refused
from memoryhub.tool import ToolUse

Json = dict[str, Any]

TOOL_USE_KEY = "claudecode/toolUseId"
"""Where Claude Code says of which `tool_use` block a call is: a call that is sent again has the same."""

LONGEST_TOKEN = 128


def token_of(meta: Json, key: str | None) -> str | None:
    """What tells a call again: the request's own key, as at the tool's endpoint, or the block of the client.

    The `id` of a request is none: clients count from 0 again whenever they start.
    """
    if key is not None:
        return f"{key}#0"
    block = meta.get(TOOL_USE_KEY)
    return block if isinstance(block, str) and 1 <= len(block) <= LONGEST_TOKEN else None


def memory(store_id: str, arguments: Json, asked: Asked, token: str | None) -> Json:
    """Runs one command; what is wrong with it is an answer too."""
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
        raise Refused(INVALID_PARAMS, f"{json.dumps(str(error))} was used before for another input.") from None
    except tree.NoSuchStore:
        raise Problem.no_store() from None
    return answer(result.content, is_error=result.is_error)


def answer(text: str, *, is_error: bool = False, structured: Json | None = None) -> Json:
    """The result of a call: a text for the model, and where the tool has a schema the same as a value."""
    result: Json = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return result if structured is None else result | {"structuredContent": structured}
