"""Room for reading and deleting on a full disk: a file of zeroes beside SQLite's, which is given up when it is needed.

The invariant: texts are taken in only while the reserve stands whole. Where a commit finds no room, the reserve is
given up at once and the commit tried again; from then on nothing that stores a text is done (`require_room`), while
views, deletions and redactions go on, each with its audit entry, in the room that was given up. As soon as there is
room for it again, the reserve is made anew, and everything is as before.
"""

import errno
import logging
import os
import shutil
import sqlite3
import threading
from pathlib import Path

logger = logging.getLogger(__name__)

NAME = "reserve"
RESERVE_BYTES = 32 * 1024 * 1024
MARGIN_BYTES = 16 * 1024 * 1024
"""So much must be free beside the reserve before it is made (again)."""


class DiskFull(Exception):
    """Nothing that stores a text is done for now."""

    def __init__(self) -> None:
        super().__init__("the disk of the database is full")


class _Reserve:
    """The reserve of this process: none before `watch`, as in commands and tests."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.is_full = False
        self.lock = threading.Lock()


_reserve = _Reserve()


def watch(directory: Path) -> None:
    """Keeps a reserve in this directory from now on."""
    _reserve.path = directory / NAME
    look()


def is_full() -> bool:
    """Whether the disk is full as far as this process knows."""
    return _reserve.is_full


def require_room() -> None:
    """Before a text is stored; raises DiskFull."""
    if _reserve.is_full:
        raise DiskFull


def look() -> None:
    """Makes the reserve where it is missing and there is room; notes whether it stands."""
    path = _reserve.path
    if path is None:
        return
    with _reserve.lock:
        was, _reserve.is_full = _reserve.is_full, not (_stands(path) or _made(path))
        if was != _reserve.is_full:
            told = "is full: nothing is stored, reading and deleting go on" if not was else "has room again"
            logger.warning("The disk of %s %s", path.parent, told)


def give_up(error: BaseException) -> bool:
    """Where an error says that the disk is full: gives the reserve up; whether it is worth trying again."""
    path = _reserve.path
    if path is None or not is_full_error(error):
        return False
    with _reserve.lock:
        stood, _reserve.is_full = _stands(path), True
        path.unlink(missing_ok=True)
    if stood:
        logger.warning("The disk of %s is full: nothing is stored, reading and deleting go on", path.parent)
    return stood


def is_full_error(error: BaseException) -> bool:
    """Whether SQLite had no room for a write, as it says itself or as the disk shows."""
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return True
    path = _reserve.path
    return code & 0xFF == sqlite3.SQLITE_IOERR and path is not None and shutil.disk_usage(path.parent).free < 1 << 20


def _stands(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == RESERVE_BYTES


def _made(path: Path) -> bool:
    if shutil.disk_usage(path.parent).free < RESERVE_BYTES + MARGIN_BYTES:
        return False
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        return False
    return True
