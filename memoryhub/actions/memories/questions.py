"""The reads of a tool call. On PostgreSQL, all of them are sent in one round trip, with the lock of the store.

This module never changes the result of a call. If a read that a call needs is not here, the call sends it alone.
`tests/api/tool_calls/test_round_trips.py` counts the round trips.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.sql import Question
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memoryhub.pure.protocol.errors import ToolError

SESSION_EXACT_TO = timedelta(seconds=1)


def of_call(store_id: str, command: Command | ToolError, session: str | None, act: Act) -> Iterator[Question]:
    """Yield the reads that a call of a key sends. The first one locks the store."""
    key, agent = str(act.actor.id), str(act.actor.author_id)
    yield sql.STORE, (store_id,)
    yield sql.CALLS, (store_id, key)
    yield sql.IDEMPOTENT_CALL, (store_id, key, act.token)
    if session is not None:
        yield sql.SESSION, values_of_session(agent, session, act.at)
    if isinstance(command, ToolError):
        return
    yield sql.MEMORY_AT, (store_id, command.path)
    if isinstance(command, View):
        yield from _of_directory(store_id, command.path)
    elif isinstance(command, Create):
        yield sql.DIRECTORY_AT, (store_id, command.path)
        yield from _of_place(store_id, command.path)
    else:
        yield from _of_change(store_id, command, sql.moment(act.at))


def values_of_session(agent: str, name: str, at: datetime) -> tuple[object, ...]:
    """Return the parameters of `sql.SESSION`."""
    # The first one: a last use of the session before that time has to be updated.
    return sql.moment(at - SESSION_EXACT_TO), agent, name


def _of_change(store_id: str, command: StrReplace | Insert | Delete | Rename, now: object) -> Iterator[Question]:
    yield sql.FROZEN, (store_id, now)
    if isinstance(command, Delete | Rename):
        yield sql.LEGAL_HOLDS, (store_id, now)
        if _may_be_directory(command.path):
            yield sql.DIRECTORY_AT, (store_id, command.path)
            yield sql.MEMORIES_UNDER, (store_id, *paths.subtree(command.path))
    if isinstance(command, Rename):
        yield sql.PATH_TAKEN, (store_id, command.new_path)
        yield sql.DIRECTORY_AT, (store_id, command.new_path)
        yield from _of_place(store_id, command.new_path)


def _of_directory(store_id: str, path: str) -> Iterator[Question]:
    yield sql.DIRECTORY_BYTES, (store_id, path)
    if _may_be_directory(path):
        yield sql.DIRECTORIES_IN, sql.in_directory(store_id, path)
        yield sql.MEMORIES_IN, sql.in_directory(store_id, path)


def _of_place(store_id: str, path: str) -> Iterator[Question]:
    """Yield the reads of the directories above the path of a new memory."""
    above = paths.ancestors(path)
    if above[1:]:
        yield sql.which_memories(store_id, above[1:])
    if above:  # the root has none
        yield sql.DIRECTORY_AT, (store_id, above[-1])
        yield sql.which_directories(store_id, above)


def _may_be_directory(path: str) -> bool:
    """Return whether a path is likely to be a directory."""
    # A path whose last name has a dot is nearly always that of a memory.
    return "." not in paths.name(path)
