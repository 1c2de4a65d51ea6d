"""What is looked at before the hub is served or a command writes: directory, database and secrets are the hub's own."""

import fcntl
import os
import shlex
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader

from memoryhub import checks, private_files
from memoryhub.actions.core import installation

APP = "memoryhub"
FILES = {"MEMORYHUB_AUDIT_KEY": "audit_key", "SECRET_KEY": "secret_key"}
ONE_FOR_ALL = "Every node and every command needs the one of this hub."

_lock: list[int] = []
"""The open file of the lock, which the workers of this process inherit and hold too."""


class NotStarted(CommandError):
    """Why nothing is served or written; the message is one sentence or two."""


def before_migrating() -> None:
    """At the start of `serve`: what is made is the owner's alone, one hub has the directory, and knows the database."""
    os.umask(0o077)
    require_address()
    lock()
    private_files.tighten()
    require_known_schema()


def after_migrating() -> None:
    """Before anything is written: the secrets are those of this database."""
    require_own_secrets()
    installation.keep_marks()
    private_files.tighten()


def line_for_commands() -> str:
    """What to type in another shell before a command; empty where commands find the hub without it."""
    if not os.environ.get("MEMORYHUB_DATA_DIR"):
        return ""
    return f"In another shell, before a command:  export MEMORYHUB_DATA_DIR={shlex.quote(str(settings.DATA_DIR))}"


class HubCommand(BaseCommand):
    """A command on a hub that is there, with the secrets that it `needs`: whatever writes needs the audit key.

    It ends with the code `not_done` where it could not do its work, for the directory, the database, a secret or the
    output.
    """

    requires_system_checks: Any = (checks.OWN,)
    needs: tuple[str, ...] = ("MEMORYHUB_AUDIT_KEY", "SECRET_KEY")
    not_done = 1

    def execute(self, *args: Any, **options: Any) -> str | None:
        os.umask(0o077)
        with self._explained():
            try:
                require_address()
                require_hub()
                require_known_schema(for_command=True)
                require_own_secrets(self.needs)
            except NotStarted as error:
                error.returncode = self.not_done
                raise
            done = super().execute(*args, **options)
            sys.stdout.flush()
            return done

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the database, a file or the output refuses is one sentence and no traceback."""
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            told = f"The database does not answer, or refuses: {error}"
            raise CommandError(told, returncode=self.not_done) from error
        except BrokenPipeError:  # as `| head` does: whoever read has seen enough
            _drop_output()
            raise SystemExit(self.not_done) from None
        except OSError as error:
            _drop_output()
            where = error.filename or "The output"
            raise CommandError(f"{where}: {error.strerror or error}", returncode=self.not_done) from error


def _drop_output() -> None:
    """What can still be written is; the rest is not, so that the end of the process does not fail for it."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(descriptor, sys.stdout.fileno())
    finally:
        os.close(descriptor)


def require_address() -> None:
    """DATABASE_URL names a database, whatever else comes of it."""
    if connection.settings_dict["ENGINE"] == "django.db.backends.dummy":
        raise NotStarted(f"{checks.WRONG_DATABASE} {checks.RIGHT_DATABASE}")


# ------------------------------------------------------------------------------------------------ the data directory


def lock() -> None:
    """Holds the data directory for as long as this process and its workers live."""
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


# ------------------------------------------------------------------------------------------------ database and secrets


def require_hub() -> None:
    """For commands: opening a SQLite file that is not there would make an empty one."""
    file = private_files.database_file()
    if file is None or (file.is_file() and file.stat().st_size):
        return
    if os.environ.get("DATABASE_URL"):
        raise NotStarted(f"There is no hub in the file that DATABASE_URL names, {file.resolve()}; nothing was made.")
    said = f"is set to {settings.DATA_DIR}" if os.environ.get("MEMORYHUB_DATA_DIR") else "is not set"
    raise NotStarted(
        f"There is no hub in {file.parent}, and nothing was made: MEMORYHUB_DATA_DIR {said}."
        " Set it to the data directory of the hub, which `serve` prints when it starts."
    )


def require_known_schema(*, for_command: bool = False) -> None:
    """An older program on a newer database would write rows that the newer one does not understand. Commands do not
    migrate an older database, as one put back from a backup is; `serve` does."""
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
            "The database was left by an older MemoryHub. Start `serve` once, which migrates it, then run this command."
        )


def require_own_secrets(needed: Collection[str] = FILES) -> None:
    """Raises NotStarted with the name and the file of a secret that is not there, or is not the hub's."""
    for name in needed:
        if name in settings.MEMORYHUB_ABSENT_SECRETS:
            raise NotStarted(f"{settings.DATA_DIR / FILES[name]} is not there, and {name} is not set. {ONE_FOR_ALL}")
    for name in (wrong for wrong in installation.wrong_secrets() if wrong in needed):
        place = f"{name}" if os.environ.get(name) else str(settings.DATA_DIR / FILES[name])
        raise NotStarted(f"{place} is not {MEANING[name]}")


MEANING = {
    "MEMORYHUB_AUDIT_KEY": (
        "the audit key of this database: what it writes could not be verified. Every node needs the same one, in"
        " MEMORYHUB_AUDIT_KEY or in the file audit_key of its data directory."
    ),
    "SECRET_KEY": (
        "the secret key of this database: sessions and links would not work. Every node needs the same one, in"
        " SECRET_KEY or in the file secret_key of its data directory. If you have changed it on purpose, run"
        " accept_secret_key."
    ),
}
