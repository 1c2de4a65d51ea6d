"""Background work of the server: checkpoints of the audit, forgetting old calls, and counting figures."""

import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from memoryhub import database
from memoryhub.actions import checkpoints, figures, housekeeping, transactions
from memoryhub.models import AuditChain

logger = logging.getLogger(__name__)

CHECKPOINT_ENTRIES = 1_000
CHECKPOINT_EVERY = timedelta(seconds=10)
FORGET_EVERY = timedelta(minutes=10)
COUNT_EVERY = timedelta(seconds=30)
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Schedule:
    """When each kind of work was done last."""

    checkpoint_at: datetime
    forgot_at: datetime
    counted_at: datetime = NEVER
    heads: dict[str, int] = field(default_factory=dict)


def start(stop: threading.Event) -> list[threading.Thread]:
    """Starts the background threads of a server process, which end when `stop` is set."""
    worker = threading.Thread(target=_work_until, args=(stop,), name="background", daemon=True)
    worker.start()
    transactions.start_committer()
    checkpointer = database.start_checkpointer(stop, transactions.write_lock)
    return [worker, checkpointer] if checkpointer else [worker]


def _work_until(stop: threading.Event) -> None:
    now = timezone.now()
    schedule = Schedule(now, now)
    while not stop.wait(1):
        try:
            tick(schedule, timezone.now())
        except (Error, OSError):
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
        schedule.forgot_at = now
    if now - schedule.counted_at >= COUNT_EVERY and figures.catch_up():
        figures.make_lists(now)
        schedule.counted_at = now


def _entries_since(schedule: Schedule) -> int:
    heads = AuditChain.objects.values_list("id", "last_seq")
    return sum(last_seq - schedule.heads.get(id, 0) for id, last_seq in heads)
