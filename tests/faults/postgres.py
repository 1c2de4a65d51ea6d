"""A PostgreSQL server of a test's own, which can be killed as a power cut would and started again."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.api.server import migrate
from tests.support import cluster
from tests.support.directory import made_once


class Cluster:
    """Its directory, which holds the socket, and its address for the hub."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.url = f"postgres://memoryhub@{quote(str(directory), safe='')}:5432/postgres"

    def kill(self) -> None:
        """The postmaster and every server process of it, at once."""
        file = self.directory / "data" / "postmaster.pid"
        postmaster = int(file.read_text().split()[0])
        for process in [postmaster, *_children(postmaster)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        while Path(f"/proc/{postmaster}").exists() and _state(postmaster) != "Z":
            time.sleep(0.02)
        file.unlink(missing_ok=True)

    def beside(self, name: str) -> str:
        """The address of a new, empty database."""
        self._run(f"create database {name}")
        return self.url.removesuffix("postgres") + name

    def remove(self, name: str) -> None:
        """Remove such a database."""
        self._run(f"drop database {name} with (force)")

    def _run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def start(self) -> None:
        """On the data that are there."""
        (self.directory / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        cluster.start_again(self.directory)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def migrated() -> Path:
    """A stopped server in whose database a hub was migrated once for all tests of the run."""
    with made_once("migrated-cluster", 0o711) as (place, first):
        server = Cluster(place / "cluster")
        if first:
            cluster.start(server.directory)
            migrate(place / "data", server.url)
            cluster.stop(server.directory, "fast")
    return server.directory


@contextmanager
def running() -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="memoryhub-faults-"))
    directory.chmod(0o711)
    server = Cluster(directory / "cluster")
    try:
        try:
            cluster.start(server.directory, migrated())
        except cluster.NoPostgreSQL as error:
            pytest.skip(str(error))
        yield server
    finally:
        cluster.stop(server.directory)
        shutil.rmtree(directory, ignore_errors=True)
