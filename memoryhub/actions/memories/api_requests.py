"""Runs a key's API request on a memory store: one transaction with its audit entry, done or refused."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Record, no_time
from memoryhub.actions.core.transactions import together
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.calls import Caller, NotRun
from memoryhub.models import Door
from memoryhub.protocol.errors import ToolError

T = TypeVar("T")


class Asked(NamedTuple):
    """Who asks, when and through which door; `session` is the agent's own name of its session."""

    caller: Caller
    door: Door
    at: datetime
    session: str | None = None
    elapsed: Callable[[], int] = no_time

    @property
    def act(self) -> Act:
        """Return the act without the session, whose id is known only inside the transaction."""
        return Act(self.caller.actor, self.door, self.at, elapsed=self.elapsed)


def on_store(store_id: str, asked: Asked, told: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]) -> T:
    """Run `do` on the locked store and commit; `do` returns the result and the entry.

    If `do` raises ToolError, before any write, the refused act is recorded as `told` with the message, and the error is
    raised again after the commit. If `do` returns an exception as its result, it is raised without an entry. Also
    raises calls.TooManyCalls, calls.AuditFull and tree.NoSuchStore.
    """
    outcome = together(lambda: _piece(store_id, asked, told, do), asked.caller.key)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _piece(
    store_id: str, asked: Asked, told: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]
) -> T | Exception:
    """Run `do` in a transaction; return refusals, because a raised error would repeat all calls of the same commit."""
    with tree.locked(store_id, asked.act) as store:
        made = calls.count(store, asked.caller.key, 1)
        if isinstance(made, NotRun):
            return made
        calls.note_use(store, asked.caller, asked.session)
        try:
            result, record = do(store)
        except ToolError as error:
            result, record = error, told._replace(ok=False, answer=error.message)
        if record is not None:
            tree.commit(store, record)
        return result
