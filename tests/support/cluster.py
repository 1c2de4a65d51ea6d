"""A private PostgreSQL cluster for one run of the tests: in the run's directory, on a Unix socket, gone afterwards."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from tests.support.directory import made_once

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "fsync": "off",  # tests end processes, never the power: the machine keeps what was written
    "autovacuum": "off",  # while one of its transactions is open, VACUUM FULL keeps what was erased since
    "log_min_messages": "fatal",
    "timezone": "UTC",
}


class NoPostgreSQL(Exception):
    """There are no PostgreSQL binaries on this machine."""


def start(directory: Path, of: Path | None = None) -> None:
    """Makes a cluster in `directory`, which also holds its socket, and waits until it answers; its data are those of
    another that was stopped, or none."""
    source = of or _empty()
    directory.mkdir(mode=0o755)
    if account := _account():
        shutil.chown(directory, account)
    subprocess.run(["cp", "-a", str(source / "data"), str(directory / "data")], check=True)
    start_again(directory)


def _empty() -> Path:
    """A cluster that was made once for all tests of the run, and never started."""
    initdb = [_binary("initdb"), "-U", "memoryhub", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
    with made_once("empty-cluster", 0o755) as (directory, first):
        if first:
            if account := _account():
                shutil.chown(directory, account)
            _run([*initdb, "-D", str(directory / "data")], directory)
    return directory


def start_again(directory: Path) -> None:
    """Starts the server on the data that are in `directory`, and waits until it answers."""
    data = directory / "data"
    options = {**SETTINGS, "unix_socket_directories": str(directory)}
    given = " ".join(f"-c {name}='{value}'" for name, value in options.items())
    _run([_binary("pg_ctl"), "-D", str(data), "-l", str(directory / "log"), "-w", "-o", given, "start"], directory)


def stop(directory: Path, mode: str = "immediate") -> None:
    """Stops the cluster, at once where its data are removed with the run's directory."""
    if (directory / "data" / "postmaster.pid").exists():
        _run([_binary("pg_ctl"), "-D", str(directory / "data"), "-m", mode, "-w", "stop"], directory)


def _binary(name: str) -> str:
    """The path of a PostgreSQL program, from PATH or the newest of Debian's."""
    if found := shutil.which(name):
        return found
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = sorted(versions, key=lambda path: float(path.parts[-3]))
    if not newest:
        raise NoPostgreSQL(f"{name} is neither in PATH nor in /usr/lib/postgresql: install PostgreSQL 15 or later.")
    return str(newest[-1])


def _account() -> str | None:
    """Whose the cluster is: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: list[str], directory: Path) -> None:
    account = _account()
    # A server that inherited a pipe would keep whoever reads it waiting for ever.
    with (directory / "output").open("w+") as output:
        done = subprocess.run(
            ["runuser", "-u", account, "--", *command] if account else command,
            cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        output.seek(0)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {output.read()}")
