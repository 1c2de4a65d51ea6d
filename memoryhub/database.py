"""The SQLite write-ahead log: copied into the database by a thread of the server, so that no call waits for it."""

import logging
import threading
from contextlib import AbstractContextManager
from pathlib import Path

from django.db import Error, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)

_checkpointer_runs = threading.Event()


def configure(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Tells a new SQLite connection to leave checkpoints to the checkpointer, where one runs in this process."""
    if connection.vendor == "sqlite" and _checkpointer_runs.is_set():
        connection.connection.execute("PRAGMA wal_autocheckpoint=0")


_kept: dict[Path, tuple[int, int]] = {}


def keep_file() -> None:
    """From now on this process serves SQLite's file as it is now, and no other one that comes to lie at its path."""
    connection.ensure_connection()
    path = Path(str(connection.settings_dict["NAME"]))
    _kept[path] = _identity(path)


def require_same_file() -> None:
    """Before anything is acknowledged: raises OperationalError where the file at the path is not the one in use.

    What is written to a file that was moved away or replaced would be lost with the process.
    """
    for path, identity in _kept.items():
        if _identity(path) != identity:
            raise OperationalError(f"{path} was moved or replaced while the hub was running: start the hub again")


def is_replaced() -> bool:
    """Whether the file at the path is not the one in use."""
    return any(_identity(path) != identity for path, identity in _kept.items())


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


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
