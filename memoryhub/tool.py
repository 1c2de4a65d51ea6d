"""The memory tool: runs one tool_use block and returns one tool_result block."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules.limits import Usage
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.calls import Caller, Outcome
from memoryhub.actions.proposals import shown
from memoryhub.models import Door
from memoryhub.pure import request_ids


class ToolUse(NamedTuple):
    """A valid `tool_use` block. `token`, with the `digest` of the input, shows whether the block has run before."""

    id: str
    input: dict[str, Any]
    token: str
    digest: str

    @classmethod
    def of(cls, id: str, input: dict[str, Any], token: str | None = None) -> "ToolUse":
        """Return the block. Without a token from the request, the block's id is its token."""
        return cls(id, input, id if token is None else token, calls.digest_of_input(input))


class ToolResult(NamedTuple):
    """The answer to a block, the store's usage after the block, and the seq of the block's audit entry.

    If `replayed` is True, the block had run before.
    """

    tool_use_id: str
    content: str
    is_error: bool
    replayed: bool
    usage: Usage
    seq: int

    def block(self) -> dict[str, Any]:
        """Return the `tool_result` block of the Messages API."""
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
    run: Callable[..., Outcome] = calls.call,
) -> ToolResult:
    """Run one block on a store that the caller's key reaches, in its own transaction with its own audit entry. Return
    the result.

    An error of the tool is a result too. `session` is the name of the agent's session. `elapsed` returns the
    microseconds since the call arrived. In the key's limit of calls, the block counts as `counts` calls. Raises
    `calls.TokenReused`, `calls.NotRun` and `tree.NoSuchStore`.
    """
    trace = request_ids.trace.get()
    act = Act(actor=caller.actor, door=door, at=at, token=tool_use.token, elapsed=elapsed, trace=trace)
    outcome = run(store_id, tool_use.input, tool_use.digest, caller, act, session, counts)
    text = outcome.text
    if outcome.viewed is not None:
        text += shown.proposed_there(store_id, outcome.viewed, caller.actor, at)
    return ToolResult(tool_use.id, text, not outcome.ok, outcome.replayed, outcome.usage, outcome.seq)
