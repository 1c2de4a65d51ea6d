"""The memory tool: one tool_use block in, one tool_result block out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.limits import Usage
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.calls import Caller
from memoryhub.models import Door


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A `tool_use` block that may run: `token` and `digest` (of its input) tell whether it has run before."""

    id: str
    input: dict[str, Any]
    token: str
    digest: str

    @classmethod
    def of(cls, id: str, input: dict[str, Any], token: str | None = None) -> "ToolUse":
        """The token is the block's own id unless the request brings another."""
        return cls(id, input, id if token is None else token, calls.digest_of_input(input))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to a block, and what the store holds after it; `replayed` where it had run before."""

    tool_use_id: str
    content: str
    is_error: bool
    replayed: bool
    usage: Usage

    def block(self) -> dict[str, Any]:
        """As the Messages API takes it."""
        return {
            "type": "tool_result",
            "tool_use_id": self.tool_use_id,
            "content": self.content,
            "is_error": self.is_error,
        }


def execute(
    store_id: str,
    tool_use: ToolUse,
    *,
    caller: Caller,
    at: datetime,
    session: str | None = None,
    elapsed: Callable[[], int],
    door: Door = Door.TOOL,
    counts: int = 1,
) -> ToolResult:
    """Runs one block on a store, for a key that reaches it, in its own transaction with its own audit entry.

    `session` is the agent's name for its run; `elapsed` gives the microseconds since the call arrived. Every outcome
    of the tool, errors too, is a result. Raises `calls.TokenReused`, `calls.TooManyCalls` and `tree.NoSuchStore`.
    `counts` is as in `calls.call`.
    """
    act = Act(actor=caller.actor, door=door, at=at, token=tool_use.token, elapsed=elapsed)
    outcome = calls.call(store_id, tool_use.input, tool_use.digest, caller, act, session, counts)
    return ToolResult(tool_use.id, outcome.text, not outcome.ok, outcome.replayed, outcome.usage)
