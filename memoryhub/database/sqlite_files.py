"""The SQLite files that this process serves, and the refusal to open other files at their paths.

A connection to a path without a file creates an empty database there. SQLite then deletes the write-ahead log that
other connections are writing to and truncates the shared index of it: what they write afterwards is lost with the
process, or the database is corrupted. The same happens when the log was renamed.
"""

import sqlite3
from pathlib import Path
from typing import Any

_kept: dict[Path, tuple[int, int]] = {}


class Connection(sqlite3.Connection):
    """Raises OperationalError, before it opens anything, if a file is not the one that is served."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if path := replaced():
            raise sqlite3.OperationalError(sentence(path))
        super().__init__(*arguments, **options)


def keep(path: Path) -> None:
    """Bind this process to the file and its open write-ahead log as they are now."""
    log = path.with_name(f"{path.name}-wal")
    _kept.update((file, identity(file)) for file in (path, log) if file.exists())


def replaced() -> Path | None:
    """Return a served path where another file or none lies now; None if all are unchanged."""
    return next((path for path, kept in _kept.items() if identity(path) != kept), None)


def sentence(path: Path) -> str:
    return f"{path} was moved or replaced while the hub was running: start the hub again"


def identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
