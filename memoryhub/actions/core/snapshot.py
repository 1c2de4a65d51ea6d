"""Reading much as it was at one moment, while others go on writing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from memoryhub.actions.core import sql


@contextmanager
def snapshot() -> Iterator[None]:
    """Inside, every read sees the database as it was at the first one, and no writer waits; nothing can be written.

    Inside a transaction it is that transaction's view. A read that may fail stands in a `transaction.atomic()` of its
    own: PostgreSQL answers nothing more after an error otherwise.
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
    """A transaction that does not take SQLite's write lock, as the others of the hub do."""
    database: Any = connection
    database.ensure_connection()
    usual = database.transaction_mode
    database.transaction_mode = "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        database.transaction_mode = usual
