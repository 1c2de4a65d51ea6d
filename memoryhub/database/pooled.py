"""Connections of PostgreSQL's pool. Before the pool hands out a connection, it tests the connection with an empty
statement.

A request whose first statement reads can send that statement as the test, and so waits once less for the server.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

Rows = list[tuple[Any, ...]]

_thread = threading.local()
_unreached: list[str] = []
"""Why the last attempt to connect failed; empty after one that succeeded."""


class _Asked:
    """A read that tests a connection, and its result."""

    def __init__(self, query: Any, values: Sequence[object]) -> None:
        self.query, self.values = query, values
        self.rows: Rows | None = None
        self.error: Exception | None = None


def options() -> dict[str, Any]:
    """Return the pool's options, which name the class of its connections; {} if psycopg cannot be imported."""
    try:
        import psycopg
    except ImportError:  # Django says so, or that the address is invalid
        return {}

    class Connection(psycopg.Connection[Any]):
        """A connection that sends the statement of `ask`, if there is one, instead of the pool's empty statement."""

        @classmethod
        def connect(cls, *given: Any, **options: Any) -> Any:
            """Connect. If the server could not be reached, keep the reason, which the pool only logs."""
            try:
                made = super().connect(*given, **options)
            except psycopg.Error as error:
                _unreached[:] = [str(error)]
                raise
            _unreached.clear()
            return made

        def execute_often(self, query: Any, values: Sequence[object]) -> psycopg.Cursor[Any]:
            """Run a statement that is sent often. The server may prepare it when it is sent again."""
            return psycopg.Cursor(self).execute(query, values)

        def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor[Any]:
            asked: _Asked | None = getattr(_thread, "asked", None) if query == "" else None
            if asked is None:
                return super().execute(query, params, **options)
            asked.rows = asked.error = None
            try:
                cursor = self.execute_often(asked.query, asked.values)
                asked.rows = cursor.fetchall()
            except psycopg.Error as error:
                asked.error = error
                return super().execute(query)  # fails if the connection is dead
            return cursor

    return {"connection_class": Connection}


def reason_of(error: BaseException) -> str:
    """Return what an error of the database says, on one line. If it says only that the pool had no connection in time,
    return why the last attempt to connect failed."""
    is_wait = type(error.__cause__ or error).__name__ == "PoolTimeout"
    why = next(iter(_unreached), "") if is_wait else ""
    return " ".join((why or str(error)).split())


def ask(connect: Callable[[], None], query: str, values: Sequence[object]) -> Rows | None:
    """Take a connection from the pool with `connect`, test it with the read `query`, and return the rows of this read.

    Without a pool, nothing is tested, the query is not sent, and None is returned.
    """
    asked = _thread.asked = _Asked(query, values)
    try:
        connect()
    finally:
        _thread.asked = None
    if asked.error is not None:
        raise asked.error
    return asked.rows
