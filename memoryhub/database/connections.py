"""Settings of database connections: checkpoints of SQLite's log in a thread, and a limit on lock waits in
PostgreSQL."""

import logging
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from django.db import Error, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.database import sqlite_files

logger = logging.getLogger(__name__)

LONGEST_LOCK = "10s"
"""The longest wait for a lock of PostgreSQL before the request ends with an error.

Another database session may lock a row for any time: requests that waited for it would take all threads and stop the
hub for everyone. The hub's own transactions are shorter than this.
"""

CANCELLED_WITHIN = 2.0
"""Seconds that PostgreSQL has to answer a request to end a statement."""

_checkpointer_runs = threading.Event()
_waits_are_limited = threading.Event()
_limited: WeakSet[Any] = WeakSet()


def configure(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Prepare a new connection. Django calls this through the signal `connection_created`.

    If the checkpointer runs in this process, SQLite's own checkpoints are turned off. On PostgreSQL, a lock timeout is
    set.
    """
    driver = connection.connection
    if connection.vendor == "sqlite":
        if _checkpointer_runs.is_set():
            driver.execute("PRAGMA wal_autocheckpoint=0")
    elif _waits_are_limited.is_set() and driver not in _limited:  # the pool hands out one connection many times
        limit = "select set_config('lock_timeout', %s, false) where current_setting('lock_timeout') = '0'"
        driver.execute(limit, [LONGEST_LOCK])
        _limited.add(driver)


def limit_waits() -> None:
    """Limit lock waits to LONGEST_LOCK on all connections to PostgreSQL that this process opens from now on."""
    _waits_are_limited.set()


_holders: list[BaseDatabaseWrapper] = []


def keep_file() -> None:
    """Bind this process to SQLite's current database file and write-ahead log. From now on, connections to other files
    are refused.

    One connection stays open, because SQLite deletes the log when the last connection is closed.
    """
    holder = connection.copy()
    holder.ensure_connection()
    holder.connection.execute("select count(*) from sqlite_master").fetchone()  # opens the log
    _holders.append(holder)
    sqlite_files.keep(Path(str(connection.settings_dict["NAME"])))


def require_same_file() -> None:
    """Raise OperationalError if the file at SQLite's path is no longer the one that this process opened.

    Call it before a write, and before a write is acknowledged. Data written to a file that was moved away or replaced
    would be lost when the process ends.
    """
    if path := sqlite_files.replaced():
        raise OperationalError(sqlite_files.sentence(path))


def let_go(*, failed: bool) -> None:
    """Release what this thread's connection holds, because the thread has no work for a while.

    On PostgreSQL, it holds a place in the pool; on SQLite, memory for pages of the file. After work that `failed`, the
    connection is closed.
    """
    if failed or connection.vendor != "sqlite" or sqlite_files.replaced():
        connection.close()
    elif connection.connection is not None:
        connection.connection.execute("PRAGMA shrink_memory")


def interrupt(other: BaseDatabaseWrapper) -> None:
    """End the statement that runs on `other`, the connection of another thread, if one runs there.

    In that thread, the statement raises a database error.
    """
    driver = other.connection
    if driver is None:
        return
    try:
        if other.vendor == "sqlite":
            driver.interrupt()
        else:
            driver.cancel_safe(timeout=CANCELLED_WITHIN)
    except Exception:
        logger.warning("A statement that takes too long could not be ended", exc_info=True)


def replace(own: BaseDatabaseWrapper) -> None:
    """Close `own`, a connection of this thread, because its state is unknown. The next statement opens a new
    connection."""
    try:
        if own.vendor != "sqlite" and own.connection is not None:
            own.connection.close()  # otherwise the pool hands it out again
        own.close()
    except Exception:
        logger.warning("A connection could not be closed", exc_info=True)
    del connections[own.alias]


def start_checkpointer(
    stop: threading.Event, write_lock: AbstractContextManager[object], seconds: float = 0.5
) -> threading.Thread | None:
    """Start and return the thread that checkpoints SQLite's log every `seconds`. Return None for another database.

    Each checkpoint ends with a short time in which the thread holds `write_lock`, so that no other thread of the
    process writes. Rarer checkpoints copy fewer pages and delay fewer calls, but the log becomes larger.
    """
    if connection.vendor != "sqlite":
        return None
    _checkpointer_runs.set()
    thread = threading.Thread(
        target=_checkpoint_until, args=(stop, write_lock, seconds), name="wal-checkpointer", daemon=True
    )
    thread.start()
    return thread


def _checkpoint_until(stop: threading.Event, write_lock: AbstractContextManager[object], seconds: float) -> None:
    # The first round is at once: of a log that somebody removes, only a connection that has it open can copy the rest.
    while not stop.is_set():
        try:
            connection.ensure_connection()
            _copy()
            # Copy the rest while no one writes. SQLite starts the log again at its beginning only once all of it is
            # copied; a log that grows forever would make every commit wait until the file's new size is on the disk.
            with write_lock:
                _copy()
        except Error:
            logger.warning("The write-ahead log could not be checkpointed; trying again", exc_info=True)
        stop.wait(seconds)
    connection.close()


def _copy() -> None:
    with connection.wrap_database_errors:
        connection.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
