"""The connections of a server process: SQLite's log is copied by a thread of its own, so that no call waits for it, and
on PostgreSQL nobody waits long for a lock."""

import logging
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from django.db import Error, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub import sqlite_files

logger = logging.getLogger(__name__)

LONGEST_LOCK = "10s"
"""A request that waits longer for a lock of PostgreSQL ends with an error: some that waited as long as another session
likes to hold a row would take all threads, and with them the hub from everybody. It is longer than the hub's own
transactions take."""

_checkpointer_runs = threading.Event()
_waits_are_limited = threading.Event()
_limited: WeakSet[Any] = WeakSet()


def configure(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Tells a new SQLite connection to leave checkpoints to the checkpointer, where one runs in this process, and one
    to PostgreSQL not to wait for a lock for ever, where its role or address does not say how long."""
    driver = connection.connection
    if connection.vendor == "sqlite":
        if _checkpointer_runs.is_set():
            driver.execute("PRAGMA wal_autocheckpoint=0")
    elif _waits_are_limited.is_set() and driver not in _limited:  # the pool gives the same one out many times
        limit = "select set_config('lock_timeout', %s, false) where current_setting('lock_timeout') = '0'"
        driver.execute(limit, [LONGEST_LOCK])
        _limited.add(driver)


def limit_waits() -> None:
    """From now on no connection that this process opens waits for a lock of PostgreSQL longer than LONGEST_LOCK."""
    _waits_are_limited.set()


_holders: list[BaseDatabaseWrapper] = []


def keep_file() -> None:
    """From now on this process serves SQLite's file and its write-ahead log as they are now, and no others. A
    connection that is never closed keeps SQLite from removing the log with the last one."""
    holder = connection.copy()
    holder.ensure_connection()
    holder.connection.execute("select count(*) from sqlite_master").fetchone()  # opens the log
    _holders.append(holder)
    sqlite_files.keep(Path(str(connection.settings_dict["NAME"])))


def require_same_file() -> None:
    """Before a write, and before it is acknowledged: raises OperationalError where a file at its path is not the one in
    use. What is written to a file that was moved away or replaced would be lost with the process."""
    if path := sqlite_files.replaced():
        raise OperationalError(sqlite_files.sentence(path))


def start_checkpointer(
    stop: threading.Event, write_lock: AbstractContextManager[object], seconds: float = 0.25
) -> threading.Thread | None:
    """Starts the thread that checkpoints every so many seconds; none where the database is not SQLite.

    `write_lock` keeps the other threads of the process from writing.
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
    while not stop.wait(seconds):
        try:
            connection.ensure_connection()
            _copy()
            # The rest, while nobody writes: only a log that is copied to its end is written from its start again,
            # and one that grows for ever makes every commit wait for the file's new size to reach the disk.
            with write_lock:
                _copy()
        except Error:
            logger.warning("The write-ahead log could not be checkpointed; trying again", exc_info=True)
    connection.close()


def _copy() -> None:
    with connection.wrap_database_errors:
        connection.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
