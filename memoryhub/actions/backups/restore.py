"""Restores a backup into a hub without a database: unpacks it, verifies it, then moves the files into place.

`unpack` and `place` run with the settings of the hub. Between the two, `finish` runs in another process, whose data
directory is the unpacked one.
"""

import filecmp
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from memoryhub.actions.backups import databases, encryption, make
from memoryhub.actions.backups.databases import Failed, Verdict
from memoryhub.actions.backups.encryption import NotOpened
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import checkpoints
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.models import BackgroundTask, HubSettings
from memoryhub.pure.backups import archive
from memoryhub.pure.backups.archive import Damaged, Manifest

COMMAND = "restore_backup"
WORK = "restore.new"
SECRETS = {"audit_key": "MEMORYHUB_AUDIT_KEY", "secret_key": "SECRET_KEY"}


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A backup that was unpacked, with its manifest."""

    directory: Path
    manifest: Manifest


def keys_of(file: Path, passphrase: str, identities: str) -> list[Any]:
    """Return the age identities that decrypt a backup.

    Raises Failed if neither the passphrase nor `identities` decrypt it.
    """
    try:
        return encryption.identity(file, passphrase, identities)
    except NotOpened as error:
        raise Failed(str(error)) from error


@contextmanager
def unpack(file: Path, keys: list[Any]) -> Iterator[Unpacked]:
    """Unpack a backup into a directory that is removed afterwards.

    Raises Failed if the backup cannot be read, or cannot be restored into this hub.
    """
    work: Path = settings.DATA_DIR / WORK
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(mode=0o700, parents=True)
    try:
        try:
            with encryption.opened(file, keys) as stream:
                manifest = archive.unpacked(stream, work)
        except (NotOpened, Damaged) as error:
            raise Failed(str(error)) from error
        _require_belonging(manifest, work)
        yield Unpacked(work, manifest)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def require_empty() -> None:
    """Raise Failed if there is a database already: a restore never replaces one."""
    if not databases.is_sqlite():
        if connection.introspection.table_names():
            raise Failed("The database that DATABASE_URL names is not empty. Restore into a new, empty one.")
        return
    file = Path(str(connection.settings_dict["NAME"]))
    for path in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        if path.exists():
            raise Failed(f"{path} exists. A restore replaces nothing: move it to another directory first.")


def _require_belonging(manifest: Manifest, work: Path) -> None:
    if (manifest.database == archive.SQLITE) != databases.is_sqlite():
        what = (
            "SQLite: leave DATABASE_URL out" if manifest.database == archive.SQLITE else "PostgreSQL: set DATABASE_URL"
        )
        raise Failed(f"The backup is of a hub on {what}. An export and an import move memories to another database.")
    if unknown := sorted(set(manifest.migrations) - set(databases.known_migrations())):
        raise Failed(f"The backup is of a newer MemoryHub ({unknown[-1]}), which this one does not know.")
    for name, variable in SECRETS.items():
        there, kept = settings.DATA_DIR / name, (work / name).read_bytes()
        if there.exists() and there.read_bytes().strip() != kept.strip():
            raise Failed(f"{there} is of another hub. Restore into another data directory, or move it away first.")
        if os.environ.get(variable) and os.environ[variable].encode() != kept:
            raise Failed(f"{variable} is set, and is not the one of the backup. Leave it out, or set it to that one.")
        if not os.environ.get(variable) and kept != kept.strip():
            raise Failed(
                f"The {name} of the backup begins or ends with a blank or a line break, and a file cannot keep that:"
                f" set {variable} to exactly what it was in the hub of the backup."
            )


def finish(act: Act, name: str, *, accept: bool) -> Verdict:
    """Migrate the unpacked database, verify it and record the restore. Raises Failed.

    With `accept`, a backup whose audit is not right is restored too; the record says what is wrong.
    """
    if not databases.is_sqlite():
        databases.load(settings.DATA_DIR / archive.POSTGRESQL)
    elif damage := databases.sound(lambda: Verdict(0, "")).problem:
        raise Failed(damage)
    databases.migrate()
    verdict = databases.verdict()
    written = checkpoint_check.check(settings.MEMORYHUB_CHECKPOINT_FILE)
    wrong = [*written.files, *(f"{chain} entry {seq}: {what}" for chain, (seq, what) in written.problems.items())]
    problem = verdict.problem or (wrong[0] if wrong else "")
    if problem and not accept:
        raise Failed(f"The audit of the backup is not right: {problem}.")
    with writing():
        BackgroundTask.objects.all().delete()  # of machines before the restore: `doctor` would call them silent
        last: Any = {**HubSettings.current().backup_last, make.MARK: secrets.token_hex(4)}
        HubSettings.objects.update_or_create(pk=1, defaults={"backup_last": last, "backup_asked": False})
        audit.on_hub(act, Record(COMMAND, input=audit.to_json({"name": name, "problem": problem})))
    return Verdict(verdict.entries, problem)


def place(unpacked: Unpacked) -> bool:
    """Move the unpacked files into the data directory, an SQLite database last.

    If the hub already had checkpoints, keep them, do not move the checkpoints of the backup, and return True.
    Checkpoints that an interrupted restore of the same backup moved there do not count as the hub's.
    """
    directory: Path = settings.DATA_DIR
    written: Path = settings.MEMORYHUB_CHECKPOINT_FILE
    has_own = any(
        not _is_same(file, unpacked.directory / file.name)
        for file in (*checkpoints.segments(written).values(), written)
        if file.exists()
    )
    database = unpacked.manifest.database
    for name in sorted(unpacked.manifest.files):
        is_kept = has_own and name.startswith("checkpoints")
        if name != database and not is_kept and not (name in SECRETS and (directory / name).exists()):
            _move(unpacked.directory / name, directory / name)
    if database == archive.SQLITE:
        _move(unpacked.directory / database, Path(str(connection.settings_dict["NAME"])))
    checkpoints.keep_names(written)
    return has_own


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and filecmp.cmp(one, other, shallow=False)


def _move(source: Path, to: Path) -> None:
    """Move a file. The file appears under its new name only when all of it is on the disk."""
    beside = to.with_name(f"{to.name}.restored")
    shutil.move(source, beside)
    descriptor = os.open(beside, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    beside.rename(to)


def report(verdict: Verdict) -> str:
    """Return a verdict as a line. The process that ran `finish` prints it; `verdict_of` reads it in the first
    process."""
    return json.dumps([verdict.entries, verdict.problem])


def verdict_of(line: str) -> Verdict:
    entries, problem = json.loads(line)
    return Verdict(int(entries), str(problem))


def moment_of(manifest: Manifest) -> datetime:
    return datetime.fromisoformat(manifest.made_at)
