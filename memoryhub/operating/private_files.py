"""The files that only the hub's own user may read: the database, the secrets, the checkpoints, and their directory."""

import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection

LOCK = "lock"
NAMES = ("secret_key", "audit_key", "audit_key.new", LOCK, "reserve")


def found() -> Iterator[Path]:
    """Yield the paths of the private files that exist."""
    directory: Path = settings.DATA_DIR
    if directory.is_dir():
        yield directory
        yield from (directory / name for name in NAMES if (directory / name).is_file())
        yield from directory.glob("checkpoints*")
    if (file := database_file()) is not None:
        yield from (path for path in (Path(f"{file}{end}") for end in ("", "-wal", "-shm")) if path.is_file())


def is_open(path: Path) -> bool:
    """Return whether other users than the owner have any permission. False for a shared (sticky) directory such as
    /tmp."""
    mode = path.stat().st_mode
    return bool(mode & 0o077) and not mode & stat.S_ISVTX


def tighten() -> None:
    """Take all permissions on the private files away from other users.

    Files that cannot be changed are left; a system check reports them.
    """
    for path in found():
        try:
            if is_open(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o077)
        except OSError:
            continue


def database_file() -> Path | None:
    """Return the path of SQLite's file, which need not exist. None for another database."""
    return Path(str(connection.settings_dict["NAME"])) if connection.vendor == "sqlite" else None
