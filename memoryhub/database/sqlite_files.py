"""The SQLite files that this process serves. A connection is refused if another file, or no file, is at one of their
paths.

Otherwise SQLite could lose later writes, or corrupt the database.
"""

import sqlite3
from pathlib import Path
from typing import Any

_kept: dict[Path, tuple[int, int]] = {}


class Connection(sqlite3.Connection):
    """A connection that raises OperationalError before it opens a file, if a served file was moved or replaced."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if path := replaced():
            raise sqlite3.OperationalError(sentence(path))
        super().__init__(*arguments, **options)


def keep(path: Path) -> None:
    """Remember the identity of the database file and of its write-ahead log, as both are now."""
    log = path.with_name(f"{path.name}-wal")
    _kept.update((file, identity(file)) for file in (path, log) if file.exists())


def replaced() -> Path | None:
    """Return the first served path whose file was moved or replaced; None if all files are unchanged."""
    return next((path for path, kept in _kept.items() if identity(path) != kept), None)


def sentence(path: Path) -> str:
    return f"{path} was moved or replaced while the hub was running: start the hub again"


def identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
