"""Whether Claude may have read a version on a copy of its store. Calls on a copy are not in the store's chain."""

from collections.abc import Iterable

from memoryhub.actions.history.blame import Row
from memoryhub.models import AuditEntry
from memoryhub.models.audit import LAST_SEQ
from memoryhub.web.audit.sentences import told_of

COMMANDS = ("start_claude_run", "start_evaluation")
MOST = 200
"""The most runs and evaluations that are checked. If there are more, Claude may have read any version."""


def was_copied(store_id: str, rows: Iterable[Row]) -> bool:
    """Return whether Claude may have read one of these versions on a throw-away copy, or in a dream."""
    rows = [row for row in rows if not row.is_deletion]
    if not rows:
        return False
    since = AuditEntry.objects.of_chain(store_id).between(min(row.seq for row in rows), LAST_SEQ)
    for command in COMMANDS:
        begun = since.of_command(command).newest().values_list("seq", "input")
        found = list(begun[: MOST + 1])
        if len(found) > MOST or any(_has_one(rows, command, *each) for each in found):
            return True
    return False


def _has_one(rows: Iterable[Row], command: str, seq: int, input: str | None) -> bool:
    details = told_of(input)
    if command == COMMANDS[0] and not details.get("copy"):
        return False
    if details.get("sessions"):
        return True
    of_entry = details.get("of_entry")
    at = of_entry if isinstance(of_entry, int) else seq
    return any(row.seq <= at and (row.superseded_seq is None or row.superseded_seq > at) for row in rows)
