"""The places to which backups go: a directory, or a bucket of an S3 server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from memoryhub.actions.backups.databases import Failed
from memoryhub.pure.backups import s3


class Target(Protocol):
    """A place for backups. A file counts as a backup only after `keep` has stored it under its name."""

    def staging(self, work: Path) -> Path:
        """Return the directory in which the file is first written: the target's own directory, or `work`."""

    def keep(self, file: Path, name: str) -> str:
        """Store a checked file under a name and return its address."""

    def names(self) -> list[str]:
        """Return the names of all files of the place."""

    def remove(self, name: str) -> None:
        """Delete a file."""


class Directory:
    """A directory as the place of backups. A file is written under another name, and renamed when it is complete."""

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


class Bucket:
    """A bucket of an S3 server. The file is written and checked in the data directory, then stored."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.prefix = f"{parts.path.strip('/')}/".lstrip("/")
        account = s3.Account(_variable("AWS_ACCESS_KEY_ID"), _variable("AWS_SECRET_ACCESS_KEY"), _region())
        self.bucket, self.address = s3.Bucket(_endpoint(), parts.netloc, account), address.rstrip("/")

    def staging(self, work: Path) -> Path:
        return work

    def keep(self, file: Path, name: str) -> str:
        with refusals():
            self.bucket.put(self.prefix + name, file)
            if self.bucket.sizes(self.prefix + name).get(self.prefix + name) != file.stat().st_size:
                self.remove(name)  # or it would count as a backup when older ones are deleted
                raise Failed(f"{self.address} has not the whole file.")
        return f"{self.address}/{name}"

    def names(self) -> list[str]:
        with refusals():
            return [key.removeprefix(self.prefix) for key in self.bucket.sizes(self.prefix)]

    def remove(self, name: str) -> None:
        with refusals():
            self.bucket.delete(self.prefix + name)

    def fetch(self, name: str, into: Path) -> None:
        """Copy a backup into a new file."""
        with refusals(), into.open("xb") as stream:
            self.bucket.get(self.prefix + name, stream)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a refusal of the S3 server into Failed."""
    try:
        yield
    except s3.Refused as error:
        raise Failed(str(error)) from error


def _endpoint() -> str:
    address = _set("MEMORYHUB_BACKUP_S3_ENDPOINT") or f"https://s3.{_region()}.amazonaws.com"
    try:
        parts = urlsplit(address)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right:
        raise Failed("MEMORYHUB_BACKUP_S3_ENDPOINT is not an address such as https://minio.example.com.")
    return address


def _region() -> str:
    return _set("AWS_REGION") or "us-east-1"


def _set(name: str) -> str:
    """Return an environment variable without blanks and line breaks at its ends."""
    return os.environ.get(name, "").strip()


def _variable(name: str) -> str:
    if value := _set(name):
        return value
    raise Failed(f"A bucket needs {name} in the environment of the hub.")


def target(address: str) -> Target:
    """Return the place with an address: a bucket for `s3://…`, otherwise a directory.

    Raises Failed if the address is empty, or if the environment lacks the keys of a bucket.
    """
    if not address.strip():
        raise Failed("A backup needs a directory.")
    if address.startswith("s3://"):
        return Bucket(address)
    return Directory(Path(address).expanduser().resolve())
