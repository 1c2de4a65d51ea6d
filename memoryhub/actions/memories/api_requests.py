"""What a key asks of a memory store through the API: one transaction, its audit entry, done or refused."""

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
    """Who asks, when and through which door; `session` is the name that the agent gave its session."""

    caller: Caller
    door: Door
    at: datetime
    session: str | None = None
    elapsed: Callable[[], int] = no_time

    @property
    def act(self) -> Act:
        """Without the session, whose id is known inside the transaction."""
        return Act(self.caller.actor, self.door, self.at, elapsed=self.elapsed)


def on_store(store_id: str, asked: Asked, told: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]) -> T:
    """Does something on the locked store and commits; the result and the entry are what `do` gives.

    A ToolError that `do` raises (it has looked, and written nothing) becomes the entry of a refused act, which is
    `told` with the message, and is raised again when that is committed. An exception that `do` gives as its result is
    raised without an entry. Raises calls.TooManyCalls, calls.AuditFull and tree.NoSuchStore, too.
    """
    outcome = together(lambda: _piece(store_id, asked, told, do), asked.caller.key)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _piece(
    store_id: str, asked: Asked, told: Record, do: Callable[[Tree], tuple[T | Exception, Record | None]]
) -> T | Exception:
    """Refusals are given and not raised: an error would make those run again that are committed with this one."""
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
