"""The files that nobody but the hub may read: the database, the secrets, the checkpoints, and their directory."""

import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection

LOCK = "lock"
NAMES = ("secret_key", "audit_key", LOCK, "reserve")


def found() -> Iterator[Path]:
    """The data directory and what of it nobody else may read: the database, secrets, checkpoints."""
    directory: Path = settings.DATA_DIR
    if directory.is_dir():
        yield directory
        yield from (directory / name for name in NAMES if (directory / name).is_file())
        yield from directory.glob("checkpoints*")
    if (file := database_file()) is not None:
        yield from (path for path in (Path(f"{file}{end}") for end in ("", "-wal", "-shm")) if path.is_file())


def is_open(path: Path) -> bool:
    """Whether others than the owner may do anything with it; a directory that many use, such as /tmp, is not ours."""
    mode = path.stat().st_mode
    return bool(mode & 0o077) and not mode & stat.S_ISVTX


def tighten() -> None:
    """Takes from everybody else what they may do with these files; what cannot be taken, a system check says."""
    for path in found():
        try:
            if is_open(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o077)
        except OSError:
            continue


def database_file() -> Path | None:
    """SQLite's file, which may not be there; of another database none."""
    return Path(str(connection.settings_dict["NAME"])) if connection.vendor == "sqlite" else None
