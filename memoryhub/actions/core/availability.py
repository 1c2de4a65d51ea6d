"""Recognises errors that mean that the database is unavailable for a while: it does not answer, or takes no writes."""

from django.db import Error, InterfaceError, OperationalError, connection

READ_ONLY = "25006"
"""PostgreSQL's error code for a write to a replica or a read-only database."""


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether an error means that the database does not answer, or takes no writes now.

    After a read-only error, the pooled connections are closed, because they lead to a server that is now a replica.
    """
    if isinstance(error, Error) and is_read_only(error):
        give_up_connections()
        return True
    return isinstance(error, OperationalError | InterfaceError)


def is_read_only(error: BaseException) -> bool:
    """Return whether PostgreSQL refused a write because the database is read-only."""
    return READ_ONLY in (getattr(error, "sqlstate", None), getattr(error.__cause__, "sqlstate", None))


def give_up_connections() -> None:
    """On PostgreSQL, close each pooled connection once it is free, so that the pool opens new ones."""
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.drain()
