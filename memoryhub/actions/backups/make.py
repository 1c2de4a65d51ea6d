"""Makes a backup: copies the database, verifies and encrypts the copy, and reads the encrypted file back."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from memoryhub.actions.backups import databases, encryption
from memoryhub.actions.backups.databases import Failed, Verdict
from memoryhub.actions.backups.encryption import Keys, NotOpened
from memoryhub.actions.backups.targets import Target
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record, keys as audit_keys
from memoryhub.actions.core.audit.keys import key_name
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import checkpoints
from memoryhub.models import HubSettings
from memoryhub.pure.backups import archive, names, rotation
from memoryhub.pure.backups.archive import Damaged, Manifest
from memoryhub.pure.backups.names import Name

COMMAND = "back_up"
WORK, LOCK = "backup.new", "backup.lock"
MARK = "mark"
"""The name, in `HubSettings.backup_last`, of the mark that a restore gives to a hub."""
ENVIRONMENT = (
    "MEMORYHUB_URL", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "MEMORYHUB_SQLITE_SYNCHRONOUS", "MEMORYHUB_CALLS",
    "MEMORYHUB_CONNECTIONS_BY_ADDRESS", "DISABLE_SERVER_SIDE_CURSORS", "MEMORYHUB_LOG_LEVEL",
)  # fmt: skip
"""Variables that a backup names, so that a restored hub can be started in the same way. None is a secret."""


@dataclass(frozen=True, slots=True)
class Made:
    """A backup that was made: its address, its size, the verdict on its audit, and how many older ones were deleted."""

    address: str
    size: int
    verdict: Verdict
    deleted: int = 0


class Running(Failed):
    """Another backup is being made."""

    def __str__(self) -> str:
        return "Another backup is running."


def make(target: Target, keys: Keys, act: Act, keep: rotation.Keep | None = None) -> Made:
    """Make a backup and record it in the audit. With `keep`, delete superseded backups afterwards. Raises Failed.

    If the audit does not verify, the backup is made too, but it is not recorded, and its name says that the audit did
    not verify. With `keep`, only backups whose audit did not verify either are then deleted. At last, Failed is raised.
    """
    begun = time.monotonic()
    try:
        with _work() as work:
            verdict, manifest, files = _copied(work, act.at)
            is_right = not verdict.problem or not databases.is_current()
            mark = _marks()[-1]
            name = str(Name(mark, act.at, is_right))
            staged = target.staging(work) / f".{name}.new"
            for left in staged.parent.glob(f".memoryhub-{mark}-*.backup.new"):  # of a backup that was killed
                left.unlink()
            try:
                _sealed(staged, manifest, files, keys)
                size = staged.stat().st_size
                address = target.keep(staged, name)
            finally:
                staged.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{error.filename or 'The backup'}: {error.strerror or error}.") from error
    if not is_right:
        if keep:
            with suppress(Failed):  # the problem of the audit is reported instead
                rotate(target, keep, act.at, is_verified=False)
        raise Failed(f"The audit is not right: {verdict.problem}. {address} was made, and does not count as a backup.")
    if databases.is_current():
        _record(act, name, size, verdict.entries, time.monotonic() - begun)
    return Made(address, size, verdict, rotate(target, keep, act.at) if keep else 0)


def rotate(target: Target, keep: rotation.Keep, now: datetime, *, is_verified: bool = True) -> int:
    """Delete the backups of this hub that `keep` does not keep; return how many were deleted. Raises Failed.

    With `is_verified`, only backups whose audit verified are deleted. Without it, only backups whose audit did not
    verify are deleted, but never the oldest of them.
    """
    try:
        marks = _marks()
        found = [name for text in target.names() if (name := names.parsed(text)) and name.hub in marks]
        found = [name for name in found if name.is_verified == is_verified]
        first = min(name.at for name in found) if found and not is_verified else None
        gone = rotation.superseded((name.at for name in found), keep, now) - {first}
        for name in found:
            if name.at in gone:
                target.remove(str(name))
    except (OSError, Failed) as error:
        raise Failed(f"A backup was made, but older ones could not be deleted: {error}") from error
    return len(gone)


def _marks() -> list[str]:
    """Return the marks by which this hub recognises its own backups. The next backup gets the last one of them.

    A hub that was restored from a backup has one random mark. The marks of any other hub are its audit keys' names.
    """
    with suppress(DatabaseError):  # a database of an older MemoryHub may have no such column
        if own := _own_mark():
            return [own]
    return audit_keys.names() if databases.is_current() else [key_name()]


def _own_mark() -> str:
    last: Any = HubSettings.objects.filter(pk=1).values_list("backup_last", flat=True).first()
    return str((last or {}).get(MARK, ""))


def is_running() -> bool:
    """Return whether a backup is being made now."""
    try:
        descriptor = os.open(settings.DATA_DIR / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def _work() -> Iterator[Path]:
    """Yield an empty private directory, and remove it afterwards. Raises Failed if another backup is running."""
    directory: Path = settings.DATA_DIR
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Running from None
        work = directory / WORK
        shutil.rmtree(work, ignore_errors=True)  # of a backup that was killed
        work.mkdir(mode=0o700)
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)
    finally:
        os.close(descriptor)


def _copied(work: Path, at: datetime) -> tuple[Verdict, Manifest, dict[str, Path]]:
    """Copy the database, the checkpoints and the keys into the directory `work`.

    Return the verdict on the audit, the manifest, and {name: file}.
    """
    files = {}
    written: Path = settings.MEMORYHUB_CHECKPOINT_FILE
    with checkpoints.locked(written, shared=True):
        for file in (*checkpoints.segments(written).values(), written):
            if file.is_file():
                files[file.name] = Path(shutil.copyfile(file, work / file.name))
    for name, value in {"audit_key": settings.MEMORYHUB_AUDIT_KEY.decode(), "secret_key": settings.SECRET_KEY}.items():
        files[name] = work / name
        files[name].write_text(value)
    name = archive.SQLITE if databases.is_sqlite() else archive.POSTGRESQL
    files[name] = work / name
    verdict = databases.copy(files[name])
    environment = {variable: os.environ[variable] for variable in ENVIRONMENT if os.environ.get(variable)}
    made = Manifest(
        at.isoformat(), databases.migrations(), verdict.entries, verdict.problem, environment, archive.described(files)
    )
    return verdict, made, files


def _sealed(path: Path, manifest: Manifest, files: dict[str, Path], keys: Keys) -> None:
    """Write the encrypted file and read it back. Raises Failed if it cannot be read."""
    path.unlink(missing_ok=True)
    own = encryption.write(path, archive.packed(manifest, files), keys)
    try:
        with encryption.opened(path, [own]) as stream:
            archive.unpacked(stream, None)
    except (NotOpened, Damaged) as error:
        raise Failed(f"The backup could not be read back. {error}") from error


def _record(act: Act, name: str, size: int, entries: int, seconds: float) -> None:
    """Record a finished backup. On a replica, do nothing."""
    details = {"name": name, "bytes": size, "entries": entries}
    last: Any = {**details, "at": act.at.isoformat(), "seconds": round(seconds, 1)}
    try:
        with writing():
            head = audit.lock_hub()
            if own := _own_mark():
                last[MARK] = own
            HubSettings.objects.update_or_create(pk=1, defaults={"backup_last": last})
            ended = act._replace(at=act.at + timedelta(seconds=seconds))
            audit.append(head, ended, Record(COMMAND, input=audit.to_json(details)))
    except DatabaseError:
        return
