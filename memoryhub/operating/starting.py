"""Checks before the hub is served or a command writes: do the data directory, the database and the secrets belong
together?"""

import fcntl
import io
import os
import shlex
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader

from memoryhub import checks
from memoryhub.actions.backups import restore
from memoryhub.actions.core.audit import keys
from memoryhub.actions.core.hub import installation
from memoryhub.actions.verification import checkpoints
from memoryhub.database import pooled
from memoryhub.models import HUB, AuditEntry, Installation
from memoryhub.operating import private_files

APP = "memoryhub"
FILES = {"MEMORYHUB_AUDIT_KEY": "audit_key", "SECRET_KEY": "secret_key"}
ONE_FOR_ALL = "Every node and every command needs the one of this hub."
PREPARED_NOW = "`serve` is preparing the database. Run this command again when `serve` has printed the hub's address."

_lock: list[int] = []
"""The open file of the lock, which the workers of this process inherit and hold too."""


class NotStarted(CommandError):
    """The hub does not start, or a command does not run; the message says why in one or two sentences."""


def before_migrating() -> None:
    """Prepare a start of `serve`: make private files private, and lock the data directory.

    Raises NotStarted if DATABASE_URL is wrong, if the data directory cannot be locked, if the database seems to be lost
    (see `require_no_lost_database`), or if the database cannot be migrated (see `require_migratable`). In these cases,
    it makes no database file, because `restore` replaces no file.
    """
    os.umask(0o077)
    require_address()
    lock()
    private_files.tighten()
    require_no_lost_database()
    require_migratable()


def require_migratable() -> None:
    """Raise NotStarted if a newer program migrated the database, or if a secret does not belong to it: a migration may
    write entries with the audit key."""
    require_known_schema()
    if _is_used():
        require_own_secrets()


def after_migrating() -> None:
    """Check the secrets, before anything else is written. Raises NotStarted if a secret is missing, or does not belong
    to this database."""
    require_own_secrets()
    installation.keep_marks()
    private_files.tighten()


def line_for_commands() -> str:
    """Return the line to type in another shell before a command; "" if commands find the hub without it."""
    if not os.environ.get("MEMORYHUB_DATA_DIR"):
        return ""
    return f"In another shell, before a command:  export MEMORYHUB_DATA_DIR={shlex.quote(str(settings.DATA_DIR))}"


class HubCommand(BaseCommand):
    """A command on an existing hub. `needs` names the secrets that it needs; a command that writes needs the audit key.

    If it cannot do its work, it exits with the code `not_done`. With `older_schema`, it also runs on a database that
    `serve` has yet to migrate.
    """

    requires_system_checks: Any = (checks.OWN,)
    needs: tuple[str, ...] = ("MEMORYHUB_AUDIT_KEY", "SECRET_KEY")
    not_done = 1
    older_schema = False

    def execute(self, *args: Any, **options: Any) -> str | None:
        os.umask(0o077)
        allow_every_character()
        with explained(self.not_done):
            try:
                require_address()
                require_hub()
                require_known_schema(for_command=not self.older_schema)
                require_own_secrets(self.needs)
                done = super().execute(*args, **options)
            except (NotStarted, SystemCheckError) as error:
                error.returncode = self.not_done
                raise
            sys.stdout.flush()
            return done


def allow_every_character() -> None:
    """On a terminal whose encoding lacks a character, show the number of the character instead."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def explained(returncode: int) -> Iterator[None]:
    """Turn an error of the database, a file or the output into one sentence without a traceback."""
    try:
        yield
    except keys.Replaced as error:
        raise CommandError(f"{error}.", returncode=returncode) from error
    except (DatabaseError, InterfaceError) as error:
        message = f"The database does not answer, or refuses: {pooled.reason_of(error)}"
        raise CommandError(message, returncode=returncode) from error
    except BrokenPipeError:  # for example `| head`, which has read enough
        _drop_output()
        raise SystemExit(returncode) from None
    except OSError as error:
        _drop_output()
        where = error.filename or "The output"
        raise CommandError(f"{where}: {error.strerror or error}", returncode=returncode) from error


def _drop_output() -> None:
    """Write out the waiting output if possible, and discard it otherwise, so that the process does not fail again when
    it exits."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(descriptor, sys.stdout.fileno())
    finally:
        os.close(descriptor)


def require_address() -> None:
    """Raise NotStarted if DATABASE_URL is not the URL of a database."""
    if connection.settings_dict["ENGINE"] == "django.db.backends.dummy":
        raise NotStarted(f"{checks.WRONG_DATABASE} {checks.RIGHT_DATABASE}")


# ------------------------------------------------------------------------------------------------ the data directory


def lock() -> None:
    """Lock the data directory for as long as this process and its workers live.

    Raises NotStarted if the directory cannot be written to, or if another hub has locked it.
    """
    if _lock:
        return
    try:
        settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(settings.DATA_DIR / private_files.LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise NotStarted(
            f"The hub cannot write to its data directory: {error.filename}: {error.strerror}. It needs a directory that"
            " belongs to the user who runs it, on a disk that takes writes."
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise NotStarted(
            f"Another hub is running on the data directory {settings.DATA_DIR}."
            " Stop it, or set MEMORYHUB_DATA_DIR to another directory."
        ) from None
    _lock.append(descriptor)


def is_served() -> bool:
    """Return whether a hub has locked the data directory."""
    try:
        with (settings.DATA_DIR / private_files.LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


# ------------------------------------------------------------------------------------------------ database and secrets


def require_hub() -> None:
    """Raise NotStarted if SQLite's file does not exist or is empty."""
    file = private_files.database_file()
    if file is None or (file.is_file() and file.stat().st_size):
        return
    if is_served():
        raise NotStarted(PREPARED_NOW)
    if os.environ.get("DATABASE_URL"):
        raise NotStarted(f"There is no hub in the file that DATABASE_URL names, {file.resolve()}; nothing was made.")
    said = f"is set to {settings.DATA_DIR}" if os.environ.get("MEMORYHUB_DATA_DIR") else "is not set"
    raise NotStarted(
        f"There is no hub in {file.parent}, and nothing was made: MEMORYHUB_DATA_DIR {said}."
        " Set it to the data directory of the hub, which `serve` prints when it starts. If the hub uses PostgreSQL, set"
        " DATABASE_URL too."
    )


def require_known_schema(*, for_command: bool = False) -> None:
    """Raise NotStarted if a newer program migrated the database.

    With `for_command`, a database that is not yet migrated to this program's schema is refused too: only `serve`
    migrates it.
    """
    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations or ())
    unknown = sorted(name for app, name in loader.applied_migrations or () if app == APP and (app, name) not in known)
    if unknown:
        raise NotStarted(
            f"The database was migrated by a newer MemoryHub ({unknown[-1]}), which this one does not know."
            " Start that version, or put back a backup from before."
        )
    if for_command and any(app == APP and (app, name) not in (loader.applied_migrations or ()) for app, name in known):
        raise NotStarted(
            PREPARED_NOW
            if is_served()
            else "The database was left by an older MemoryHub. Start `serve` once, which migrates it, then run this"
            " command."
        )


def require_no_lost_database() -> None:
    """Raise NotStarted if the database is empty, but checkpoints or the files of an interrupted restore exist.

    Without this check, a hub whose database is lost would begin again without its memories.
    """
    file, left = settings.MEMORYHUB_CHECKPOINT_FILE, settings.DATA_DIR / restore.WORK
    were_written = checkpoints.segments(file) or (file.is_file() and file.stat().st_size)
    if not (were_written or left.exists()) or _is_used():
        return
    if left.exists():
        raise NotStarted(
            f"{left} is there, and the database is empty. A restore was interrupted: run `restore` again. For a new"
            " hub, set MEMORYHUB_DATA_DIR to a directory of its own."
        )
    raise NotStarted(
        f"The database is empty, but {file} was written for another one. If that database was lost or moved, put"
        " it back, or correct DATABASE_URL. For a new hub, set MEMORYHUB_DATA_DIR to a directory of its own."
    )


def _is_used() -> bool:
    database = private_files.database_file()
    if database is not None and not (database.exists() and database.stat().st_size):
        return False  # to open an empty file would write its first page
    there = connection.introspection.table_names()
    used = {Installation: Installation.objects.all(), AuditEntry: AuditEntry.objects.of_chain(HUB)}
    return any(model._meta.db_table in there and rows.exists() for model, rows in used.items())


def require_own_secrets(needed: Collection[str] = FILES) -> None:
    """Raise NotStarted if a needed secret is missing, or belongs to another hub. The message names the secret."""
    for name in needed:
        if name in settings.MEMORYHUB_ABSENT_SECRETS:
            raise NotStarted(f"{settings.MEMORYHUB_ABSENT_SECRETS[name]} {ONE_FOR_ALL}")
    for name in (wrong for wrong in installation.wrong_secrets() if wrong in needed):
        if name == "MEMORYHUB_AUDIT_KEY" and _is_rotation_interrupted():
            raise NotStarted("The audit key was being replaced when that was interrupted. Run rotate_audit_key again.")
        place = f"{name}" if os.environ.get(name) else str(settings.DATA_DIR / FILES[name])
        raise NotStarted(f"{place} is not {MEANING[name]}")


def _is_rotation_interrupted() -> bool:
    waiting = settings.DATA_DIR / "audit_key.new"
    return waiting.is_file() and installation.is_audit_key(waiting.read_text().strip())


MEANING = {
    "MEMORYHUB_AUDIT_KEY": (
        "the audit key of this database: what it writes could not be verified. Every node needs the same one, in"
        " MEMORYHUB_AUDIT_KEY or in the file audit_key of its data directory. If it was replaced (rotate_audit_key),"
        " take the new one."
    ),
    "SECRET_KEY": (
        "the secret key of this database: sessions and links would not work. Every node needs the same one, in"
        " SECRET_KEY or in the file secret_key of its data directory. If you have changed it on purpose, run"
        " accept_secret_key."
    ),
}
