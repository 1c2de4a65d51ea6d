"""Consistent reads over many queries while others write."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from memoryhub.actions.core import sql


@contextmanager
def snapshot() -> Iterator[None]:
    """Let every read inside see the database as it was at the first read. Writers do not wait; writing is not possible.

    Inside a transaction, it is that transaction's view. A read that may fail needs a `transaction.atomic()` of its own:
    otherwise PostgreSQL answers no query after an error.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with _deferred():
            yield
    else:
        with transaction.atomic():
            sql.keep_snapshot()
            yield


@contextmanager
def _deferred() -> Iterator[None]:
    """Open a transaction that does not take SQLite's write lock, unlike the hub's other transactions."""
    database: Any = connection
    database.ensure_connection()
    usual = database.transaction_mode
    database.transaction_mode = "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        database.transaction_mode = usual
