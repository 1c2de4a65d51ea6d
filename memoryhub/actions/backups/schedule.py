"""The scheduled backups: their settings, when the next one is due, and the result of the last one."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import Error
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memoryhub.actions.backups.encryption import Keys
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HubSettings
from memoryhub.pure.backups.rotation import Keep

NO_KEYS = gettext_lazy(
    "A backup needs a passphrase in MEMORYHUB_BACKUP_PASSPHRASE, or a public key of the tool age in "
    "MEMORYHUB_BACKUP_RECIPIENT. "
    "Keep the passphrase or the secret key in a place that you can reach without this machine."
)
AGAIN = timedelta(minutes=30)
"""The time between a failed attempt and the next one."""
RUNNING = 3
"""The exit code of the command if another backup is running."""
AT_ONCE = datetime.fromtimestamp(0, UTC)
SIGN_EVERY, LONGEST = 60.0, 12 * 3600.0
"""Seconds between two reports that a backup is still being made, and seconds after which it counts as hanging."""
LATE = 3
"""Backups are too old when the last one is older than this many intervals."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of the scheduled backups. `every` is in hours; without a `target`, no backup is scheduled.

    `hour` is the hour in UTC at which backups begin, if `every` is whole days (None: at any time).
    """

    target: str = ""
    every: int = 24
    newest: int = 7
    weekly: int = 4
    monthly: int = 6
    hour: int | None = None

    @property
    def keep(self) -> Keep:
        return Keep(self.newest, self.weekly, self.monthly)

    @property
    def interval(self) -> timedelta:
        return timedelta(hours=self.every)

    def after(self, last: datetime) -> datetime:
        """Return when the next backup after `last` is due: one interval later.

        If there is an `hour` and the interval is whole days, the backup begins at this hour, at most 12 hours earlier
        or later.
        """
        due = last + self.interval
        if self.hour is None or self.every % 24:
            return due
        earliest = due.astimezone(UTC) - timedelta(hours=12)
        at_hour = earliest.replace(hour=self.hour, minute=0, second=0, microsecond=0)
        return at_hour if at_hour >= earliest else at_hour + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class State:
    """The state of the scheduled backups.

    `at`, `name`, `bytes`, `entries` and `seconds` describe the last successful backup. `at` is None if there is none.
    `problem` says why a later backup failed. `next_at` is None if no backup is scheduled.
    """

    plan: Plan
    at: datetime | None
    is_asked: bool
    begun_at: datetime | None
    name: str = ""
    bytes: int = 0
    entries: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def next_at(self) -> datetime | None:
        if not self.plan.target:
            return None
        after = self.plan.after(self.at) if self.at else None
        failed = self.begun_at and (self.at is None or self.begun_at > self.at)
        if failed and self.begun_at:
            return max(self.begun_at + AGAIN, after) if after else self.begun_at + AGAIN
        return after or AT_ONCE

    def is_running(self, now: datetime) -> bool:
        """Return whether a backup has begun and has neither ended nor failed, according to this state."""
        has_ended = self.begun_at is None or (self.at is not None and self.at >= self.begun_at)
        return not has_ended and not self.problem and now - (self.begun_at or now) < AGAIN

    def is_old(self, now: datetime) -> bool:
        """Return whether the last successful backup is older than LATE intervals. False if no backups are scheduled.

        If none has succeeded yet, the last attempt counts.
        """
        last = self.at or self.begun_at
        return bool(self.plan.target) and last is not None and now - last > LATE * self.plan.interval


def keys() -> Keys:
    """Return the passphrase and the public key for backups. They are in the environment."""
    return Keys(settings.MEMORYHUB_BACKUP_PASSPHRASE, settings.MEMORYHUB_BACKUP_RECIPIENT)


def state() -> State:
    row = HubSettings.current()
    last = row.backup_last
    at = datetime.fromisoformat(last["at"]) if "at" in last else None
    values = {name: last[name] for name in ("name", "bytes", "entries", "seconds", "problem") if name in last}
    return State(Plan(**row.backups), at, row.backup_asked, row.backup_begun_at, **values)


def set_plan(plan: Plan, act: Act) -> None:
    """Set the plan. The entry has the plan before and the plan after."""
    with writing():
        head = audit.lock_hub()
        row, _ = HubSettings.objects.get_or_create(pk=1)
        if row.backups != asdict(plan):
            HubSettings.objects.filter(pk=1).update(backups=asdict(plan))
            details = {"before": row.backups, "after": asdict(plan)}
            audit.append(head, act, Record("set_backups", input=audit.to_json(details)))


def ask(act: Act) -> None:
    """Ask for a backup now; the background begins it within seconds."""
    with writing():
        HubSettings.objects.filter(pk=1).update(backup_asked=True)
        audit.on_hub(act, Record("ask_backup"))


def is_due(there: State, now: datetime) -> bool:
    """Return whether to begin a backup now.

    Also True if the last backup has a time in the future, because the clock was set back.
    """
    if not there.plan.target:
        return False
    if there.is_asked:
        return True
    begun, last, next_at = there.begun_at, there.at, there.next_at
    if (last and last - now > AGAIN) or (begun and begun - now > AGAIN):
        return True
    return next_at is not None and next_at <= now


def back_up_due(now: datetime) -> None:
    """Make a backup in a separate process if one is due. If it fails, store why."""
    there = state()
    if not is_due(there, now) or not _claim(there, now):
        return
    plan = there.plan
    command = ["backup", plan.target, "--keep", f"{plan.newest},{plan.weekly},{plan.monthly}"]
    code, said = _ended([sys.executable, str(settings.BASE_DIR / "manage.py"), *command])
    if code not in (0, RUNNING):
        lines = [line for line in said.splitlines() if line.strip()]
        _note_problem((lines[-1] if lines else "The backup ended without a result.").removeprefix("CommandError: "))


def _ended(command: list[str]) -> tuple[int, str]:
    """Run a command; when it has ended, return its exit code and its error output.

    While the command runs, but for at most LONGEST seconds, record every SIGN_EVERY seconds that the work continues.
    """
    begun = time.monotonic()
    process = subprocess.Popen(
        command, env={**os.environ, "MEMORYHUB_DATA_DIR": str(settings.DATA_DIR)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    while True:
        try:
            _, said = process.communicate(timeout=SIGN_EVERY)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            if time.monotonic() - begun < LONGEST:
                with suppress(Error):
                    background.note(Outcome("backups", timezone.now()))


def _note_problem(problem: str) -> None:
    with writing():
        row = HubSettings.current()
        HubSettings.objects.filter(pk=1).update(backup_last={**row.backup_last, "problem": problem})


def _claim(there: State, now: datetime) -> bool:
    """Return whether this process is to make the backup. Of several nodes, only one gets True."""
    unchanged = Q(backup_begun_at=there.begun_at) if there.begun_at else Q(backup_begun_at__isnull=True)
    with writing():
        rows = HubSettings.objects.filter(unchanged, pk=1)
        last = {name: value for name, value in HubSettings.current().backup_last.items() if name != "problem"}
        return bool(rows.update(backup_begun_at=now, backup_asked=False, backup_last=last))
