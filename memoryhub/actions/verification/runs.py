"""Records each run of `verify_audit` over all chains in the hub's own chain, and returns the last one.

The record says what the run reported, not that the audit is right: whoever has the database and the audit key can write
one, so only a new run proves anything.
"""

from collections.abc import Sequence

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HUB, AuditEntry, Door

COMMAND = "verify_audit"
MOST_NAMED = 20
"""How many of the wrong chains a record names."""


def record(act: Act, *, entries: int, wrong: Sequence[str], checkpoints_complete: bool) -> None:
    """Record a run over all chains: how many entries were right, and which chains or checkpoint files were not."""
    details = {"entries": entries, "wrong": wrong[:MOST_NAMED], "checkpoints_complete": checkpoints_complete}
    with writing():
        audit.on_hub(act, Record(COMMAND, ok=not wrong, input=audit.to_json(details)))


def last() -> AuditEntry | None:
    """Return the entry of the last recorded run, or None."""
    return AuditEntry.objects.of_chain(HUB).of_command(COMMAND).through_other(Door.COMMAND).newest().first()
