"""Whether the database can be used now: what fails for its sake alone is no fault of the hub, and goes over."""

from django.db import Error, InterfaceError, OperationalError, connection

READ_ONLY = "25006"
"""PostgreSQL's code for a write that it does not take: it has become a replica, or is read-only."""


def is_unavailable(error: BaseException | None) -> bool:
    """Whether an error says that the database did not answer, or takes no writes now.

    Connections to a server that has become a replica would go on to it for ever: the pool gives up all that it has.
    """
    if isinstance(error, Error) and is_read_only(error):
        give_up_connections()
        return True
    return isinstance(error, OperationalError | InterfaceError)


def is_read_only(error: BaseException) -> bool:
    """Whether PostgreSQL refused a write because it takes none."""
    return READ_ONLY in (getattr(error, "sqlstate", None), getattr(error.__cause__, "sqlstate", None))


def give_up_connections() -> None:
    """On PostgreSQL, each connection that the pool has is closed once nobody uses it, and another one opened."""
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.drain()
