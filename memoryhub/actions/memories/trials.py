"""Runs tool calls as a trial, in a transaction that the caller opened and may roll back."""

from collections.abc import Mapping
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.calls import Caller, NotRun, Outcome, TokenReused


def call_here(
    store_id: str, input: Mapping[str, Any], digest: str, caller: Caller, act: Act, session: str | None, counts: int = 1
) -> Outcome:
    """Run one call as `calls.call` does, in this thread's open transaction. A refusal is not recorded."""
    command, text = calls.parsed(input), audit.to_json(input)
    outcome = calls.locked_call(store_id, command, input, text, digest, caller, act, session, counts)
    if isinstance(outcome, NotRun | TokenReused):
        raise outcome
    return outcome


def call_again(store_id: str, input: Mapping[str, Any], caller: Caller, act: Act, session: str | None) -> Outcome:
    """Run a recorded call again as a new call. Its key need not be valid, and limits of calls do not apply."""
    with tree.locked(store_id, act) as store:
        calls.note_use(store, caller, session)
        return calls.answered(store, calls.parsed(input), input, audit.to_json(input), caller)
