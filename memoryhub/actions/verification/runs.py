"""Runs of `verify_audit` over all chains. People ask for a run on a page, and each run is recorded in the hub's chain.

Such a record does not prove that the audit is right: anyone who has the database and the audit key can write one.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.hub import installation
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import verify
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.models import HUB, AuditEntry, Door

COMMAND, ASKED = "verify_audit", "ask_verify_audit"
MOST_NAMED = 20
"""The most wrong chains that a record names."""

WAITS = timedelta(hours=12)
"""A person's request for a run is given up if it was not answered in this time."""


def record(act: Act, *, entries: int, wrong: Sequence[str], checkpoints_complete: bool) -> None:
    """Record a run over all chains: the number of correct entries, and the chains or checkpoint files that were
    wrong."""
    details = {"entries": entries, "wrong": wrong[:MOST_NAMED], "checkpoints_complete": checkpoints_complete}
    with writing():
        audit.on_hub(act, Record(COMMAND, ok=not wrong, input=audit.to_json(details)))


def last() -> AuditEntry | None:
    """Return the entry of the last recorded run, or None."""
    return AuditEntry.objects.of_chain(HUB).of_command(COMMAND).through_other(Door.COMMAND).newest().first()


def ask(act: Act) -> None:
    """Ask the background for a run, unless another one was asked for and has not ended."""
    if asked(act.at) is None:
        with writing():
            audit.on_hub(act, Record(ASKED))


def asked(at: datetime) -> AuditEntry | None:
    """Return the entry that asked for a run which has not ended; None if there is none."""
    wish = AuditEntry.objects.of_chain(HUB).of_command(ASKED).newest().first()
    if wish is None or wish.at < at - WAITS:
        return None
    done = last()
    return wish if done is None or done.seq < wish.seq else None


def run_asked(at: datetime) -> None:
    """Verify all chains and the checkpoints if a person has asked for this, and record the result."""
    if asked(at) is None:
        return
    begun = time.monotonic()
    written = checkpoint_check.check(settings.MEMORYHUB_CHECKPOINT_FILE)
    if written.files or written.problems:
        installation.require_current_key()
    wrong, entries = ["checkpoints"] if written.files or written.lost else [], 0
    for chain in verify.chains(written.chains):
        count, problem = verify.verify(chain)
        entries += count
        if problem is not None or chain in written.problems:
            wrong.append(chain)
    act = Act(Actor.system(COMMAND), Door.COMMAND, at, elapsed=lambda: int((time.monotonic() - begun) * 1_000_000))
    is_complete = bool(written.chains or written.files) and not written.absent
    if asked(at) is not None:  # another machine may have answered
        record(act, entries=entries, wrong=wrong, checkpoints_complete=is_complete)
