"""Restores a backup into a hub without a database."""

import os
import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from memoryhub import checks
from memoryhub.actions.backups import restore, schedule, targets
from memoryhub.actions.backups.databases import Failed
from memoryhub.actions.backups.restore import Unpacked
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.database import pooled
from memoryhub.models import Door
from memoryhub.operating import private_files, starting


class Command(BaseCommand):
    requires_system_checks: Any = (checks.OWN,)
    help = (
        "Restores a backup into a hub that has no database. Everything is decrypted and verified first; if something is"
        " wrong, nothing is changed. A backup of an older MemoryHub is migrated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the backup: a file, or s3://BUCKET/PREFIX/NAME")
        parser.add_argument("--identity", type=Path, metavar="FILE", help="the secret key, for a public key")
        parser.add_argument(
            "--unverified",
            action="store_true",
            help="accept an audit that is not right, and record what is wrong",
        )
        parser.add_argument("--finish", action="store_true", help=SUPPRESS)

    def handle(self, *, file: str, identity: Path | None, unverified: bool, finish: bool, **_: Any) -> None:
        os.umask(0o077)
        try:
            if finish:
                self._finish(Path(file), unverified)
            elif file.startswith("s3://"):
                self._fetched(file, identity, unverified)
            else:
                self._restore(Path(file).resolve(), identity, unverified)
        except Failed as error:
            raise CommandError(f"{error}") from error
        except OSError as error:
            raise CommandError(f"{error.filename or 'The backup'}: {error.strerror or error}.") from error
        except DatabaseError as error:
            raise CommandError(f"The database does not answer, or refuses: {pooled.reason_of(error)}") from error

    def _fetched(self, address: str, identity: Path | None, unverified: bool) -> None:
        """Restore a backup from a bucket. It is first copied into the data directory, and this copy is deleted
        afterwards."""
        place, _, name = address.rpartition("/")
        settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = settings.DATA_DIR / f"{name}.fetched"
        copy.unlink(missing_ok=True)
        try:
            targets.Bucket(place).fetch(name, copy)
            self._restore(copy, identity, unverified)
        finally:
            copy.unlink(missing_ok=True)

    def _finish(self, file: Path, unverified: bool) -> None:
        act = Act(Actor.system("restore"), Door.COMMAND, timezone.now())
        self.stdout.write(restore.report(restore.finish(act, file.name, accept=unverified)))

    def _restore(self, file: Path, identity: Path | None, unverified: bool) -> None:
        starting.require_address()
        restore.require_empty()
        keys = restore.keys_of(file, schedule.keys().passphrase, identity.read_text() if identity else "")
        starting.lock()
        with restore.unpack(file, keys) as unpacked:
            verdict = restore.verdict_of(finished(file, unpacked, unverified))
            has_own = restore.place(unpacked)
        private_files.tighten()
        at = restore.moment_of(unpacked.manifest)
        said = f"NOT right: {verdict.problem}" if verdict.problem else f"all {verdict.entries} audit entries are right"
        self.stdout.write(f"Restored the backup of {at:%Y-%m-%d %H:%M:%S} UTC: {said}.")
        for variable, value in unpacked.manifest.environment.items():
            told = "".join(letter if letter.isprintable() else "\ufffd" for letter in f"{variable}={value}")
            self.stdout.write(f"The hub ran with {told}")
        self.stdout.write(about_missing(f"{at:%Y-%m-%d %H:%M} UTC", has_own=has_own))
        self.stdout.write(
            "This hub gives its backups another mark, and deletes none from before the restore: another hub may still"
            " need them. Delete them yourself when their time is over. If that hub still serves, read “Restore” in"
            " docs/operations.md before you start this one: both would send webhooks and e-mails."
        )


def about_missing(at: str, *, has_own: bool) -> str:
    """Return the line about what was written after the backup, which was made at `at`.

    `has_own`: the data directory still has its own checkpoints.
    """
    if has_own:
        return (
            f"The checkpoints here were kept: verify_audit reports the entries after {at} as missing, until you record"
            f' why with: manage.py verify_audit --accept-missing "restored the backup of {at}"'
        )
    return (
        f"The backup does not have what was written after {at}. If you have newer checkpoints, copy them into"
        f" {settings.DATA_DIR}: verify_audit then names the missing entries, and --accept-missing records why."
    )


def finished(file: Path, unpacked: Unpacked, unverified: bool) -> str:
    """Verify the unpacked backup in a new process with the backup's secrets. Return the last line that the process
    prints.

    `unverified` accepts a backup whose audit is not right. Raises Failed if the process fails.
    """
    environment = {**os.environ, "MEMORYHUB_DATA_DIR": str(unpacked.directory)}
    if connection.vendor == "sqlite":
        environment.pop("DATABASE_URL", None)
    options = ["--unverified"] if unverified else []
    manage = settings.BASE_DIR / "manage.py"
    done = subprocess.run(
        [sys.executable, str(manage), "restore", "--finish", *options, str(file)],
        env=environment, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = (lines[-1] if lines else "It could not be verified.").removeprefix("CommandError: ")
        again = "" if connection.vendor == "sqlite" else " If tables were made, drop the database before you try again."
        raise Failed(said + again)
    return done.stdout.strip().splitlines()[-1]
