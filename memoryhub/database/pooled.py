"""The first statement of a request to PostgreSQL is also the test of the connection that it gets.

The pool tests each connection before it hands it out, with an empty statement. A request whose first statement reads
can send that one instead, and waits once less for the server. If the connection is dead, the pool takes another one,
and the statement is sent there.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

Rows = list[tuple[Any, ...]]

_thread = threading.local()


class _Asked:
    """A read that tests a connection, and what came of it."""

    def __init__(self, query: Any, values: Sequence[object]) -> None:
        self.query, self.values = query, values
        self.rows: Rows | None = None
        self.error: Exception | None = None


def options() -> dict[str, Any]:
    """Return the options of a pool whose connections send what `ask` asks in place of the pool's empty statement."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor[Any]:
            asked: _Asked | None = getattr(_thread, "asked", None) if query == "" else None
            if asked is None:
                return super().execute(query, params, **options)
            asked.rows = asked.error = None
            try:
                cursor = super().execute(asked.query, asked.values)
                asked.rows = cursor.fetchall()
            except psycopg.Error as error:
                asked.error = error
                return super().execute(query)  # fails if the connection is dead
            return cursor

    return {"connection_class": Connection}


def ask(connect: Callable[[], None], query: str, values: Sequence[object]) -> Rows | None:
    """Let `connect` take a connection from the pool, and return the rows of a read that was its test. None if it was
    not tested, since there is no pool."""
    asked = _thread.asked = _Asked(query, values)
    try:
        connect()
    finally:
        _thread.asked = None
    if asked.error is not None:
        raise asked.error
    return asked.rows
