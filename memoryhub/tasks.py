"""Background work of the server: checkpoints of the audit, forgetting old calls, and counting figures."""

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memoryhub import database, webhook_worker
from memoryhub.actions import (
    checkpoints,
    database_remains,
    deleting,
    figures,
    housekeeping,
    importing,
    runs,
    scans,
    transactions,
    webhooks_sending,
)
from memoryhub.models import AuditChain

logger = logging.getLogger(__name__)

CHECKPOINT_ENTRIES = 1_000
CHECKPOINT_EVERY = timedelta(seconds=10)
FORGET_EVERY = timedelta(minutes=10)
COUNT_EVERY = timedelta(seconds=30)
LOOK_EVERY = timedelta(hours=1)
RUN_FOR = 0.8
PAUSE = 0.02
"""So long a tick goes on with the runs of the retention policies, and so long tool calls have for themselves between
two transactions of theirs."""
SCAN_FOR = 2.0
"""So many seconds of a tick are for scans of the history, half of them pauses in which calls are answered."""
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Schedule:
    """When each kind of work was done last."""

    checkpoint_at: datetime
    forgot_at: datetime
    counted_at: datetime = NEVER
    looked_at: datetime = NEVER
    heads: dict[str, int] = field(default_factory=dict)


def start(stop: threading.Event) -> list[threading.Thread]:
    """Starts the background threads of a server process, which end when `stop` is set."""
    worker = threading.Thread(target=_work_until, args=(stop,), name="background", daemon=True)
    worker.start()
    transactions.start_committer()
    checkpointer = database.start_checkpointer(stop, transactions.write_lock)
    threads = [worker, *webhook_worker.start(stop)]
    return [*threads, checkpointer] if checkpointer else threads


def _work_until(stop: threading.Event) -> None:
    now = timezone.now()
    schedule = Schedule(now, now)
    while not stop.wait(1):
        try:
            tick(schedule, timezone.now())
        except Exception:  # whatever it is, checkpoints and removals go on
            logger.exception("Background work failed; trying again")
        finally:
            if connection.vendor != "sqlite":
                connection.close()
    connection.close()


def tick(schedule: Schedule, now: datetime) -> None:
    """Does what is due."""
    if now - schedule.checkpoint_at >= CHECKPOINT_EVERY or _entries_since(schedule) >= CHECKPOINT_ENTRIES:
        checkpoints.append(settings.MEMORYHUB_CHECKPOINT_FILE, now, schedule.heads)
        schedule.checkpoint_at = now
    if now - schedule.forgot_at >= FORGET_EVERY:
        while housekeeping.forget_calls(now):
            pass
        while webhooks_sending.forget(now):
            pass
        importing.forget_previews(now)
        schedule.forgot_at = now
    database_remains.scrub()
    if now - schedule.counted_at >= COUNT_EVERY and figures.catch_up():
        figures.make_lists(now)
        schedule.counted_at = now
    if not timedelta() <= now - schedule.looked_at < LOOK_EVERY:
        runs.due_runs(now)
        schedule.looked_at = now
    go_on_with_runs(RUN_FOR)
    go_on_with_imports(RUN_FOR)
    _scan(SCAN_FOR)
    remove_deleted(RUN_FOR)


def go_on_with_runs(seconds: float) -> None:
    """Goes on for so long with the retention runs, each in turn, pausing after each step; one that fails waits."""
    end, open_runs = time.monotonic() + seconds, deque(runs.going_on())
    if open_runs and not figures.catch_up():
        return  # what is removed before it is counted would be missing in the figures
    while open_runs and time.monotonic() < end:
        run = open_runs.popleft()
        try:
            if runs.step(run, timezone.now()):
                open_runs.append(run)
        except Exception:
            logger.exception("The retention run %s could not go on; trying again", run)
        time.sleep(PAUSE)


def go_on_with_imports(seconds: float) -> None:
    """Goes on for so long with imports and their previews, pausing after each step; one that fails waits."""
    end = time.monotonic() + seconds
    for job in importing.running():
        try:
            while time.monotonic() < end and importing.step(job, timezone.now()):
                time.sleep(PAUSE)
        except Exception:
            logger.exception("The import %s could not go on; trying again", job)


def remove_deleted(seconds: float) -> None:
    """Goes on for so long with removing the rows of deleted stores, pausing after each piece."""
    end = time.monotonic() + seconds
    for store in deleting.deleted_stores():
        while time.monotonic() < end and deleting.step(store, timezone.now()):
            time.sleep(PAUSE)


def _scan(seconds: float) -> None:
    """Goes on with the scans that are open, for so long; after each step it pauses for as long as that took."""
    end = time.monotonic() + seconds
    for scan in scans.running():
        more = True
        while more and time.monotonic() < end:
            begun = time.monotonic()
            more = scans.step(scan.pk, timezone.now())
            time.sleep(time.monotonic() - begun)


def _entries_since(schedule: Schedule) -> int:
    heads = AuditChain.objects.values_list("id", "last_seq")
    return sum(last_seq - schedule.heads.get(id, 0) for id, last_seq in heads)
