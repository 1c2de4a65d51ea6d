"""A hub in processes of its own, as `serve` starts it, with a fresh data directory and database."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from django.conf import settings

from tests.support import starts
from tests.support.directory import made_once

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Server:
    """A running hub: where it answers, and the environment of its commands."""

    port: int
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    log: Path
    host: str = "127.0.0.1"
    stores: list[tuple[str, str]] | None = None
    """Those that `new_store` gives next: where many are asked for, one process makes some at once."""

    def command(self, *arguments: str) -> str:
        """Runs a management command on the hub's data and gives its last line."""
        return self.run(*arguments).stdout.strip().rpartition("\n")[2]

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return starts.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, check=check, text=True,
            capture_output=True,
        )  # fmt: skip

    def new_store(self) -> tuple[str, str]:
        """(store id, secret of a key that may write there) of a new store."""
        if self.stores is None:
            return made_store(self.environment)
        if not self.stores:
            self.stores.extend(made_stores(self.environment, 8))
        return self.stores.pop()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=60)


class Agent:
    """One client that keeps its connection alive."""

    def __init__(self, server: Server, store: str, secret: str) -> None:
        self.connection = server.connect()
        self.url = f"/v1/memory_stores/{store}/tool_calls"
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def send(self, body: object, **headers: str) -> tuple[int, dict[str, str], Any]:
        """(status, headers, JSON value) of one request."""
        self.connection.request("POST", self.url, json.dumps(body).encode(), self.headers | headers)
        response = self.connection.getresponse()
        value = json.loads(response.read())
        return response.status, {name.lower(): v for name, v in response.getheaders()}, value

    def call(self, id: str, **input: object) -> list[str]:
        """["ok" or "err", text] of one command."""
        status, _, value = self.send({"type": "tool_use", "id": id, "name": "memory", "input": input})
        assert status == 200, value
        return ["err" if value["is_error"] else "ok", value["content"]]

    def close(self) -> None:
        self.connection.close()


def made_store(environment: dict[str, str]) -> tuple[str, str]:
    """(store id, secret of a key that may write there) of a new store in the hub of an environment."""
    return made_stores(environment, 1)[0]


def made_stores(environment: dict[str, str], number: int) -> list[tuple[str, str]]:
    """As many, which one process makes."""
    command = [sys.executable, "-m", "tests.api.new_store", str(number)]
    done = starts.run(command, cwd=ROOT, env=environment, check=True, text=True, stdout=subprocess.PIPE)
    return [(store, secret) for store, secret in map(str.split, done.stdout.splitlines())]


@contextmanager
def served(
    directory: Path, *options: str, descriptors: int | None = None, address: str | None = None, host: str = "",
    **more: str,
) -> Iterator[Server]:  # fmt: skip
    """A hub that answers until the block ends, on a migrated database or on what is at an address; `descriptors` are as
    many as a process of it may have, `host` is where it answers if not at 127.0.0.1, `more` goes to its environment."""
    put_static(directory)
    with _migrated(directory) if address is None else nullcontext(address) as url:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        own = {
            "MEMORYHUB_DATA_DIR": str(directory), "MEMORYHUB_STATIC_ROOT": str(directory / "static"),
            "MEMORYHUB_CALLS": "none",
        }  # fmt: skip
        environment = {**os.environ, **own, "DATABASE_URL": url, "MEMORYHUB_URL": f"http://127.0.0.1:{port}"} | more
        command = [sys.executable, "manage.py", "serve", "--port", str(port), *(("--host", host) if host else ())]
        command += options
        if descriptors is not None:
            command = ["prlimit", f"--nofile={descriptors}:{descriptors}", *command]
        with (directory / "log").open("wb") as log:
            process = starts.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        server = Server(port, environment, process, directory / "log", host or "127.0.0.1")
        try:
            _wait(server)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@contextmanager
def _migrated(directory: Path) -> Iterator[str]:
    """Puts a hub that was migrated once for all into a directory, and gives the URL of its database; empty for SQLite
    in the directory."""
    if "sqlite" in settings.DATABASES["default"]["ENGINE"]:
        put_migrated(directory)
        yield ""
        return
    with _postgres() as (connection, server):
        name, template = f"served_{uuid4().hex[:12]}", migrated_postgres()
        connection.execute(f'create database "{name}" template {template.name}')
        shutil.copytree(template, directory, dirs_exist_ok=True)
        try:
            yield server + name
        finally:
            connection.execute(f'drop database "{name}" with (force)')


@contextmanager
def _postgres() -> Iterator[tuple[Any, str]]:
    """A connection to the server of the tests on which databases can be made, and the beginning of their URLs."""
    import psycopg

    default = settings.DATABASES["default"]
    place = {"host": default["HOST"], "port": default["PORT"] or 5432, "user": default["USER"]}
    password = default["PASSWORD"]
    user = quote(default["USER"]) + (f":{quote(password)}" if password else "")
    with psycopg.connect(dbname="postgres", password=password or None, autocommit=True, **place) as connection:
        yield connection, f"postgres://{user}@{quote(default['HOST'], safe='')}:{place['port']}/"


def migrated_postgres() -> Path:
    """The data directory of a hub on PostgreSQL that was migrated once for all tests of the run; a database has its
    name."""
    with made_once("migrated_postgres") as (template, first):
        if first:
            with _postgres() as (connection, server):
                connection.execute(f"create database {template.name}")
                migrate(template, server + template.name)
    return template


def put_migrated(directory: Path) -> None:
    """Puts a hub on SQLite, which was migrated once for all tests of the run, into a directory."""
    shutil.copytree(migrated_sqlite(), directory, dirs_exist_ok=True)


def migrated_sqlite() -> Path:
    """The data directory of that hub."""
    with made_once("migrated-sqlite") as (template, first):
        if first:
            migrate(template, "")
    return template


def migrate(directory: Path, url: str) -> None:
    """Makes a hub whose data are in a directory, on the database at an address."""
    own = {"MEMORYHUB_DATA_DIR": str(directory), "DATABASE_URL": url}
    _manage(own, "migrate", "--verbosity", "0")


def put_static(directory: Path) -> None:
    """Puts the static files, collected once for all tests of the run, into the directory of a hub."""
    if not (directory / "static").exists():
        shutil.copytree(collected(), directory / "static")


def collected() -> Path:
    """The directory of the static files as `collectstatic` leaves them."""
    with made_once("collected") as (template, first):
        if first:
            own = {"MEMORYHUB_DATA_DIR": str(template / "data"), "MEMORYHUB_STATIC_ROOT": str(template / "static")}
            _manage(own, "collectstatic", "--no-input", "--verbosity", "0")
    return template / "static"


def _manage(own: dict[str, str], *arguments: str) -> None:
    starts.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=os.environ | own, check=True)


def _wait(server: Server) -> None:
    for _ in range(1200):  # a busy machine migrates for a minute
        try:
            connection = server.connect()
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        assert server.process.poll() is None, server.log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"the hub does not answer: {server.log.read_text()}")
