"""Remembers the values of keys, stores and settings that the committer has read, until someone changes them.

Every change is noticed: `data_version` shows commits of other connections, and `models.sealed` this thread's own
changes. So a revoked key is refused from the next transaction on.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from memoryhub.actions.core import sql
from memoryhub.models import sealed

T = TypeVar("T")

MOST = 4_096

_thread = threading.local()


class _Facts:
    """The values that one thread remembers, and the state of the database in which they were read."""

    __slots__ = ("as_of", "changes", "values")

    def __init__(self) -> None:
        self.as_of: object = None
        self.changes = 0
        self.values: dict[tuple[str, ...], Any] = {}


def begin() -> None:
    """Let this thread remember values until `end`.

    Call it at the start of a transaction that holds SQLite's write lock.
    """
    facts: _Facts | None = getattr(_thread, "facts", None)
    if facts is None:
        facts = _thread.facts = _Facts()
    as_of = sql.data_version()
    if as_of != facts.as_of:
        facts.values.clear()
        facts.as_of = as_of
    _thread.now = facts


def end(*, committed: bool) -> None:
    """Stop remembering until the next `begin`.

    If the transaction was not committed, the values that were read in it are forgotten.
    """
    facts, _thread.now = getattr(_thread, "now", None), None
    if facts is not None and not committed:
        facts.values.clear()


def get(*key: str) -> Any:
    """Return a remembered value, or None."""
    values = _values()
    return None if values is None else values.get(key)


def take(*key: str) -> Any:
    """Return a remembered value and forget it, or return None."""
    values = _values()
    return None if values is None else values.pop(key, None)


def put(value: Any, *key: str) -> None:
    """Remember a value, if this thread is between `begin` and `end`."""
    values = _values()
    if values is not None:
        if len(values) >= MOST:
            values.clear()
        values[key] = value


def read(find: Callable[[], T], *key: str) -> T:
    """Return a remembered value, or find it and remember it. None is not remembered."""
    found: T | None = get(*key)
    if found is None:
        found = find()
        if found is not None:
            put(found, *key)
    return found


def forget() -> None:
    """Forget everything, after a change that neither `data_version` nor `models.sealed` shows."""
    values = _values()
    if values is not None:
        values.clear()


def _values() -> dict[tuple[str, ...], Any] | None:
    facts: _Facts | None = getattr(_thread, "now", None)
    if facts is None:
        return None
    if facts.changes != sealed.changes():
        facts.changes = sealed.changes()
        facts.values.clear()
    return facts.values
