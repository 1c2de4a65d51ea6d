"""Whether the database is available: the errors that mean that it does not answer or takes no writes for a while, and
the proof that it takes them."""

from django.db import Error, InterfaceError, OperationalError, connection
from django.db.models import F

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import keys
from memoryhub.actions.core.transactions import writing
from memoryhub.models.audit import HUB, AuditChain

READ_ONLY = "25006"
"""PostgreSQL's error code for a write to a replica or a read-only database."""


class ReadOnly(Exception):
    """The database answers, but takes no writes."""


def prove_commit() -> None:
    """Commit a write that changes nothing. Raises ReadOnly, or the database's error, if this fails."""
    with writing():
        if not sql.is_writable():
            raise ReadOnly
        AuditChain.objects.filter(pk=HUB).update(last_seq=F("last_seq"))
        if AuditChain.objects.filter(pk=HUB).exclude(key_name=None).exclude(key_name=keys.key_name()).exists():
            raise keys.Replaced


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
