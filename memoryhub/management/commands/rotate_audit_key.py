"""Replaces the audit key."""

import os
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor, keys
from memoryhub.actions.core.hub import installation
from memoryhub.actions.verification import checkpoints, rotation
from memoryhub.actions.verification.rotation import NotRotated
from memoryhub.models import Door
from memoryhub.operating import starting
from memoryhub.operating.starting import HubCommand

VARIABLE = "MEMORYHUB_AUDIT_KEY"


class Command(HubCommand):
    needs = ()
    help = (
        "Replaces the audit key by a new key, while the hub is stopped. Older entries still verify: the older keys "
        "are kept for this alone, encrypted with the new key. The whole audit is verified first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-key",
            type=Path,
            metavar="FILE",
            help="a file with the new key, if MEMORYHUB_AUDIT_KEY is set",
        )
        parser.add_argument(
            "--put-back", type=Path, metavar="FILE", help="instead, keep an older key that the database has lost"
        )

    def handle(self, *, new_key: Path | None, put_back: Path | None, **_: Any) -> None:
        starting.lock()
        file, waiting = settings.DATA_DIR / "audit_key", settings.DATA_DIR / "audit_key.new"
        if _text(waiting) and installation.is_audit_key(_text(waiting)) and not os.environ.get(VARIABLE):
            _place(waiting, file)  # the rotation was interrupted after its commit
            self.stdout.write(f"The audit key was replaced before, and is now in {file}.")
            return
        starting.require_own_secrets()
        act = Act(Actor.system("rotate_audit_key"), Door.COMMAND, timezone.now())
        try:
            if put_back:
                self.stdout.write(f"The older audit key {rotation.put_back(_given(put_back), act)} is back.")
            else:
                self._rotate(_given(new_key) if new_key else "", file, waiting, act)
        except NotRotated as error:
            raise CommandError(str(error)) from error

    def _rotate(self, given: str, file: Path, waiting: Path, act: Act) -> None:
        is_in_environment = bool(os.environ.get(VARIABLE))
        if is_in_environment and not given:
            raise CommandError(f"{VARIABLE} is set: write a new key into a file, and name it with --new-key.")
        new = given or secrets.token_urlsafe(48)
        if not is_in_environment:
            _write(waiting, new)
        count = rotation.rotate(new, act)
        if not is_in_environment:
            _place(waiting, file)
        checkpoints.append(settings.MEMORYHUB_CHECKPOINT_FILE, act.at)
        self.stdout.write(f"The audit key was replaced. The new one, {keys.key_name()}, has signed {count} chains.")
        where = f"set {VARIABLE} to it" if is_in_environment else f"it is in {file}"
        self.stdout.write(
            f"Now {where}, give the same to every other node, and make a backup. Older backups hold the key that they"
            " need."
        )


def _text(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


def _given(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(descriptor)
    checkpoints.keep_names(path)


def _place(waiting: Path, file: Path) -> None:
    waiting.replace(file)
    checkpoints.keep_names(file)
