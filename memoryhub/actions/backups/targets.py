"""The places to which backups go: a directory, or a bucket of an S3 server."""

import os
from pathlib import Path
from typing import Protocol

from memoryhub.actions.backups.databases import Failed


class Target(Protocol):
    """A place for backups. `keep` makes a file that was written and checked count, under its name."""

    def staging(self, work: Path) -> Path:
        """Return the directory in which the file is written first."""

    def keep(self, file: Path, name: str) -> str:
        """Store a checked file under a name and return its address."""

    def names(self) -> list[str]:
        """Return the names of all files of the place."""

    def remove(self, name: str) -> None:
        """Delete a file."""


class Directory:
    """A directory. The file is written beside the others and renamed, so a name is always a whole backup."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def staging(self, work: Path) -> Path:
        if not self.path.is_dir():
            raise Failed(f"{self.path} is no directory. It is not made, because a disk may not be mounted there.")
        return self.path

    def keep(self, file: Path, name: str) -> str:
        kept = self.path / name
        if kept.exists():
            raise Failed(f"{kept} exists already.")
        file.rename(kept)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return str(kept)

    def names(self) -> list[str]:
        return [path.name for path in self.path.iterdir() if path.is_file()]

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


def target(address: str) -> Target:
    """Return the place with an address. Raises Failed if there can be none."""
    if not address.strip():
        raise Failed("A backup needs a directory.")
    return Directory(Path(address).expanduser().resolve())
