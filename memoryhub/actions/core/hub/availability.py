"""Detects whether the database is available. A database that takes no writes for a while is not available."""

from typing import Any

from django.db import InterfaceError, OperationalError, connection
from django.db.models import F

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import keys
from memoryhub.actions.core.transactions import writing
from memoryhub.models.audit import HUB, AuditChain

READ_ONLY = "25006"
"""PostgreSQL's error code for a write to a replica or a read-only database."""
ENDED = ("25P03", "25P04")
"""PostgreSQL's error codes for a session that it ended because a transaction was idle, or lasted, longer than the
database allows. The driver has no OperationalError for them."""


class ReadOnly(Exception):
    """The database answers, but takes no writes."""


def prove_commit() -> None:
    """Commit a write that changes nothing. Raises ReadOnly, keys.Replaced or the database's error if this fails."""
    with writing():
        if not sql.is_writable():
            raise ReadOnly
        AuditChain.objects.filter(pk=HUB).update(last_seq=F("last_seq"))
        if AuditChain.objects.filter(pk=HUB).exclude(key_name=None).exclude(key_name=keys.key_name()).exists():
            raise keys.Replaced


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether an error means that the database does not answer, or takes no writes now.

    After a read-only error, the pooled connections are closed, because they lead to a replica.
    """
    codes = {getattr(one, "sqlstate", None) for one in (error, getattr(error, "__cause__", None))}
    if READ_ONLY in codes:
        give_up_connections()
    driver: Any = connection.Database  # type: ignore[attr-defined]  # Django lets through what closing a cursor raises
    unavailable = OperationalError, InterfaceError, driver.OperationalError, driver.InterfaceError
    return isinstance(error, unavailable) or not codes.isdisjoint({READ_ONLY, *ENDED})


def give_up_connections() -> None:
    """On PostgreSQL, close each pooled connection once it is free, so that the pool opens new ones."""
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.drain()
