"""The state of each kind of background work. Each process writes its own rows; a page shows all of them.

The rows are not audited.
"""

import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.actions.core.transactions import writing
from memoryhub.models import BackgroundTask

NODE = socket.gethostname()[:255] or "hub"
KEPT = timedelta(days=7)
"""A node that has reported nothing for this long is forgotten."""
LATE = timedelta(minutes=10)
"""Work hangs if it reports nothing for this long, or for three of its intervals if they are longer."""

EVERY: dict[str, float] = {
    "checkpoints": 1, "forgetting": 600, "scrub": 10, "figures": 30, "retention": 3600, "runs": 1, "imports": 1,
    "scans": 1, "findings": 60, "deletion": 1, "webhooks": 0.5, "disk": 5, "backups": 5,
    "refused_calls": 5, "verification": 2, "claude_runs": 1, "mail": 3, "alarms": 60, "stream": 1, "spans": 1,
}  # fmt: skip
"""Seconds between two rounds of each kind of work."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one round of a kind of work. `problem` is empty after a success."""

    name: str
    at: datetime
    problem: str = ""
    failures: int = 0
    next_at: datetime | None = None


def note(outcome: Outcome, node: str = NODE) -> None:
    """Store the outcome of a round."""
    row: dict[str, object] = {"problem": outcome.problem, "failures": outcome.failures, "next_at": outcome.next_at}
    row["failed_at" if outcome.problem else "succeeded_at"] = outcome.at
    with writing():
        BackgroundTask.objects.update_or_create(node=node, name=outcome.name, defaults=row)


def forget_nodes(at: datetime) -> None:
    """Delete the rows of nodes that have reported nothing for KEPT."""
    old = [row.pk for row in BackgroundTask.objects.all() if at - _last(row) > KEPT]
    if old:
        with writing():
            for node, name in old:
                BackgroundTask.objects.filter(node=node, name=name).delete()


def states() -> list[BackgroundTask]:
    """Return the state of each kind of work on each node, sorted by node. The kinds are in the order of EVERY."""
    order = {name: place for place, name in enumerate(EVERY)}
    rows = BackgroundTask.objects.filter(name__in=EVERY)
    return sorted(rows, key=lambda row: (row.node, order[row.name]))


def hangs(row: BackgroundTask, at: datetime) -> bool:
    """Return whether the work has reported nothing for more than LATE and for more than three of its intervals."""
    return at - _last(row) > max(LATE, timedelta(seconds=3 * EVERY[row.name]))


def _last(row: BackgroundTask) -> datetime:
    moments = [moment for moment in (row.succeeded_at, row.failed_at, row.next_at) if moment is not None]
    return max(moments)
