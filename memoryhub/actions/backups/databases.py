"""Copies of the database for a backup, and their checks; putting a copy into an empty database."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.migrations.loader import MigrationLoader

from memoryhub.actions.core.audit.keys import Replaced
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.verification import verify
from memoryhub.database import copies

APP = "memoryhub"
RESERVE = 64 * 1024 * 1024
"""Bytes of the disk that a backup leaves free."""
_LIBPQ = (
    "dbname", "user", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "connect_timeout",
    "target_session_attrs", "options", "service", "passfile", "channel_binding", "gssencmode",
)  # fmt: skip


class Failed(Exception):
    """A backup was not made, or not restored; the message is one sentence or two for an administrator."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verifying the audit: how many entries are correct, and the problem as a sentence ("": no problem).

    The problem is an error in the audit, or the reason why the audit could not be verified.
    """

    entries: int
    problem: str


def is_sqlite() -> bool:
    return connection.vendor == "sqlite"


def copy(path: Path) -> Verdict:
    """Copy the database to a file, verify the audit in the copy, and return the result. Raises Failed."""
    if not is_sqlite():
        return _dump(path)
    needed, free = 2 * copies.bytes_in_use() + RESERVE, shutil.disk_usage(path.parent).free
    if free < needed:
        raise Failed(
            f"The backup needs up to {needed // 1_000_000:,} MB of free disk in {path.parent}, and there are"
            f" {free // 1_000_000:,} MB."
        )
    try:
        copies.copy_into(str(path))
    except DatabaseError as error:
        raise Failed(f"The database could not be copied to {path.parent}: {error}.") from error
    with on_file(path):
        return sound(lambda: verdict(is_complete=is_current()))


def sound(check: Any) -> Verdict:
    """Return the result of the function `check`. Raises Failed if the database is damaged or cannot be read."""
    try:
        if damage := copies.damage():
            raise Failed(f"The copy of the database is damaged: {damage}.")
        found: Verdict = check()
    except DatabaseError as error:
        raise Failed(f"The copy of the database is damaged, or cannot be read: {error}.") from error
    return found


def verdict(*, is_complete: bool = True) -> Verdict:
    """Verify every chain of the database, and return the result.

    An older schema (`is_complete` is False) cannot be verified before it is migrated; the result says so. Raises Failed
    if the audit key was rotated meanwhile.
    """
    if not is_complete:
        return Verdict(0, "the database was left by an older MemoryHub; a restore migrates and verifies it")
    total, problem = 0, ""
    try:
        for name in verify.chains(set()):
            count, wrong = verify.verify(name)
            total += count
            problem = problem or (str(wrong) if wrong else "")
    except Replaced as error:
        raise Failed("The audit key is not the one of this database: it was rotated meanwhile. Try again.") from error
    return Verdict(total, problem)


def migrations() -> list[str]:
    """Return the names of the hub's migrations in the database, sorted."""
    applied = MigrationLoader(connection).applied_migrations or ()
    return sorted(name for app, name in applied if app == APP)


def is_current() -> bool:
    """Return whether the database has all migrations of this program."""
    return set(known_migrations()) <= set(migrations())


def known_migrations() -> list[str]:
    return sorted(name for app, name in MigrationLoader(None).disk_migrations or () if app == APP)


@contextmanager
def on_file(path: Path) -> Iterator[None]:
    """Let this thread use another SQLite file as its database."""
    usual: Any = connections[DEFAULT_DB_ALIAS]
    other = usual.copy(DEFAULT_DB_ALIAS)
    other.settings_dict["NAME"] = str(path)
    connections[DEFAULT_DB_ALIAS] = other
    try:
        yield
    finally:
        other.close()  # the last connection writes the log into the file and removes it
        connections[DEFAULT_DB_ALIAS] = usual


def migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


# ---------------------------------------------------------------------------------------------------- PostgreSQL


def _dump(path: Path) -> Verdict:
    """Dump PostgreSQL's database into a file, verify the audit in the same snapshot, and return the verdict."""
    is_complete = is_current()
    with snapshot():
        options = ["--format=custom", "--no-owner", "--no-privileges", f"--snapshot={copies.shared_snapshot()}"]
        run("pg_dump", *options, f"--file={path}")
        return verdict(is_complete=is_complete)


def load(path: Path) -> None:
    """Load a dump into the empty database, completely or not at all. Raises Failed."""
    run("pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", str(path))


def run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL's on the hub's database. Raises Failed."""
    given = _parameters()
    address = " ".join(f"{name}='{_quoted(str(given[name]))}'" for name in _LIBPQ if given.get(name))
    environment = {**os.environ, **({"PGPASSWORD": given["password"]} if given.get("password") else {})}
    try:
        done = subprocess.run(
            [_path(program), f"--dbname={address}", *arguments],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise Failed(f"{program} cannot be run: {error.strerror}.") from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:500]
        raise Failed(f"{program} failed: {said or f'it ended with {done.returncode}'}")


def _parameters() -> dict[str, Any]:
    database: Any = connection
    found: dict[str, Any] = database.get_connection_params()
    return found


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _path(program: str) -> str:
    """Return the path of the newest installed version of a program."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda path: _version(path.parts[-3]))
    path = str(debian[-1]) if debian else shutil.which(program)
    if path is None:
        raise Failed(f"{program} is not installed: install PostgreSQL’s client programs, not older than the server.")
    # pg_dump refuses a server that is newer than itself.
    return path


def _version(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
