"""The files of SQLite that this process serves: it opens no others that come to lie at their paths.

A connection to a path at which nothing lies makes an empty database there. SQLite then removes the write-ahead log that
the other connections write to, and cuts off the index of it that they share: what they write after that is lost with
the process, or the database with it. The same goes for a log that has lost its name.
"""

import sqlite3
from pathlib import Path
from typing import Any

_kept: dict[Path, tuple[int, int]] = {}


class Connection(sqlite3.Connection):
    """Raises OperationalError, before anything is opened, where a file is not the one that is served."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if path := replaced():
            raise sqlite3.OperationalError(sentence(path))
        super().__init__(*arguments, **options)


def keep(path: Path) -> None:
    """From now on this process serves the file and its write-ahead log, which is open, as they are now."""
    log = path.with_name(f"{path.name}-wal")
    _kept.update((file, identity(file)) for file in (path, log) if file.exists())


def replaced() -> Path | None:
    """The path at which another file lies than the one that is served, or none does."""
    return next((path for path, kept in _kept.items() if identity(path) != kept), None)


def sentence(path: Path) -> str:
    return f"{path} was moved or replaced while the hub was running: start the hub again"


def identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
