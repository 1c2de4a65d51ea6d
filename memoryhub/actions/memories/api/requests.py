"""Runs an API request of a key on a memory store, in one transaction. A refusal has an audit entry, too."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Record, no_time
from memoryhub.actions.core.transactions import together, writing
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import calls, refused_calls
from memoryhub.actions.memories.calls import Caller, NotRun, TooManyCalls
from memoryhub.models import Door
from memoryhub.pure import request_ids
from memoryhub.pure.protocol.errors import ToolError

T = TypeVar("T")


class Asked(NamedTuple):
    """A request: its caller, door and time. `session` is the agent's own name for its session."""

    caller: Caller
    door: Door
    at: datetime
    session: str | None = None
    elapsed: Callable[[], int] = no_time

    @property
    def act(self) -> Act:
        """Return the act without the session. The session's id is known only inside the transaction."""
        return Act(self.caller.actor, self.door, self.at, elapsed=self.elapsed, trace=request_ids.trace.get())


def on_store(
    store_id: str, asked: Asked, record: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]
) -> T:
    """Run `do` on the locked store and commit; return the result. `do` returns (result, record of the entry or None).

    If the result is an exception, it is raised after the commit. `do` may also raise ToolError, but only before it
    writes. The entry is then the argument `record`, with the error's message as its answer. This error, too, is raised
    after the commit. Also raises calls.NotRun and tree.NoSuchStore.
    """
    outcome = together(lambda: _piece(store_id, asked, record, do), asked.caller.key)
    if isinstance(outcome, Exception):
        if isinstance(outcome, TooManyCalls):
            refused_calls.note(store_id, asked.caller.key, outcome.calls, asked.at)
        raise outcome
    return outcome


def _piece(
    store_id: str, asked: Asked, asked_for: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]
) -> T | Exception:
    """Run `do` in a transaction.

    Refusals are returned, not raised: several calls share one commit, and an exception would run all of them again.
    """
    with tree.locked(store_id, asked.act) as store:
        made = calls.count(store, asked.caller.key, 1)
        if isinstance(made, NotRun):
            return made
        calls.note_use(store, asked.caller, asked.session)
        try:
            result, record = do(store)
        # Raised, an exception would repeat all calls of the same commit.
        except ToolError as error:
            result, record = error, asked_for._replace(ok=False, answer=error.message)
        if record is not None:
            tree.commit(store, record)
        return result


def note_key(asked: Asked) -> None:
    """Record the use of a key by a request that is about no memory. The request has no entry and no limit."""
    if asked.caller.stale:
        together(lambda: _note_key(asked), asked.caller.key)


def _note_key(asked: Asked) -> None:
    with writing():
        calls.note_key(asked.caller, asked.at)
