"""Keeps a reserve file beside SQLite's file, so that the hub can read and delete when the disk is full.

If a commit finds no space, the reserve is deleted and the commit is tried again. Until the reserve is back, every act
that stores a text is refused (`require_room`). Views, deletions and redactions continue, with their audit entries.
"""

import errno
import logging
import os
import shutil
import sqlite3
import threading
from pathlib import Path

logger = logging.getLogger(__name__)

POSTGRES_FULL = "53100"
"""PostgreSQL's error code for a full disk."""
NAME = "reserve"
RESERVE_BYTES = 32 * 1024 * 1024
MARGIN_BYTES = 16 * 1024 * 1024
"""Free space that must be left on the disk after the reserve is created."""


class DiskFull(Exception):
    """Raised while no text can be stored, because the disk is full."""

    def __init__(self) -> None:
        super().__init__("the disk of the database is full")


class _Reserve:
    """The reserve of this process. Its path is None until `watch` is called."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.is_full = False
        self.lock = threading.Lock()


_reserve = _Reserve()


def watch(directory: Path) -> None:
    """Keep a reserve in this directory from now on."""
    _reserve.path = directory / NAME
    look()


def is_full() -> bool:
    """Return whether the disk was full at this process's last check."""
    return _reserve.is_full


def require_room() -> None:
    """Raise DiskFull if no text can be stored now."""
    if _reserve.is_full:
        raise DiskFull


def look() -> None:
    """Create the reserve if it is missing. If there is no space for it, the disk counts as full."""
    path = _reserve.path
    if path is None:
        return
    with _reserve.lock:
        was, _reserve.is_full = _reserve.is_full, not (_stands(path) or _made(path))
        if was != _reserve.is_full:
            news = "is full: nothing is stored, reading and deleting go on" if not was else "has room again"
            logger.warning("The disk of %s %s", path.parent, news)


def give_up(error: BaseException) -> bool:
    """Delete the reserve if an error means that the disk is full. Return whether this freed space."""
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
    """Return whether an error means that the disk had no space for a write.

    A general input or output error of SQLite counts if less than 1 MB of the disk is free.
    """
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
