"""Reads that see one consistent state over many queries, while others write."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from memoryhub.actions.core import sql


@contextmanager
def snapshot() -> Iterator[None]:
    """Let every read in the block see the database as it was at the first read. Writers do not wait.

    The caller cannot write. Inside an open transaction, `snapshot` does nothing. Put a read that may fail into its own
    `transaction.atomic()`, because PostgreSQL answers no more queries after an error.
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
