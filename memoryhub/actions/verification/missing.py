"""Records why entries that checkpoints name are missing from the database, for example after a restore.

The record is an act with an entry in the hub's chain. For each chain, it names the last entry that exists and the last
entry in a checkpoint. It explains the checkpoints between these two entries, if they are older than the act.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification.checkpoints import reading
from memoryhub.actions.verification.checkpoints.lines import Checkpoint
from memoryhub.models import HUB, AuditChain, AuditEntry
from memoryhub.pure import chain

COMMAND = "accept_missing"


@dataclass(frozen=True, slots=True)
class Missing:
    """A chain whose entries after `kept`, up to `last`, are missing.

    `reason` and `at` belong to the act that accepted the gap.
    """

    chain: str
    kept: int
    last: int
    reason: str = ""
    at: datetime | None = None

    def explains(self, checkpoint: Checkpoint) -> bool:
        """Return whether a checkpoint names one of the missing entries and was written before the act."""
        within = checkpoint.chain == self.chain and self.kept < checkpoint.seq <= self.last
        return within and self.at is not None and checkpoint.at <= chain.moment(self.at)

    def __str__(self) -> str:
        said = f"accepted at {self.at:%Y-%m-%d %H:%M}: {self.reason}"
        return f"entries {self.kept + 1} to {self.last} are missing, {said}"


def accepted(chain_id: str) -> list[Missing]:
    """Return the accepted gaps of a chain."""
    return [one for one in all_accepted() if one.chain == chain_id]


def all_accepted() -> list[Missing]:
    """Return the accepted gaps of all chains, read from the hub's entries."""
    entries = AuditEntry.objects.of_chain(HUB).of_command(COMMAND).that_ended(True).oldest()
    found = []
    for input, at in entries.values_list("input", "at"):
        details = json.loads(input or "{}")
        rows = details.get("chains") or []
        found += [Missing(str(name), int(kept), int(last), str(details.get("reason")), at) for name, kept, last in rows]
    return found


def find(path: Path) -> list[Missing]:
    """Return the chains for which unexplained checkpoints name entries that are missing or different."""
    explained = all_accepted()
    wrong: dict[str, tuple[int, int]] = {}
    for placed in reading.Files(path):
        one, seq = placed.checkpoint, placed.checkpoint.seq
        if not any(reason.explains(one) for reason in explained) and not _is_there(one):
            first, last = wrong.get(one.chain, (seq, seq))
            wrong[one.chain] = min(first, seq), max(last, seq)
    return [Missing(name, _kept(name, first), last) for name, (first, last) in sorted(wrong.items())]


def accept(path: Path, reason: str, act: Act) -> Sequence[Missing]:
    """Record why entries are missing, and return the gaps. If there are no gaps, nothing is written."""
    found = find(path)
    if found:
        details = {"reason": reason, "chains": [[one.chain, one.kept, one.last] for one in found]}
        with writing():
            audit.on_hub(act, Record(COMMAND, input=audit.to_json(details)))
    return found


def _is_there(checkpoint: Checkpoint) -> bool:
    start = AuditChain.objects.filter(pk=checkpoint.chain).values_list("start_seq", flat=True).first() or 0
    if checkpoint.seq <= start:
        return True
    return AuditEntry.objects.filter(chain=checkpoint.chain, seq=checkpoint.seq, hash=checkpoint.hash).exists()


def _kept(chain_id: str, first_wrong: int) -> int:
    """Return the seq of the last entry before the first wrong checkpoint.

    Later entries may have been written after the loss.
    """
    head = AuditChain.objects.filter(pk=chain_id).values_list("last_seq", flat=True).first() or 0
    return min(head, first_wrong - 1)


def is_gone(chain_id: str) -> bool:
    """Return whether a whole chain is missing and a person has accepted this."""
    there = AuditChain.objects.filter(pk=chain_id).exists() or AuditEntry.objects.of_chain(chain_id).exists()
    return not there and any(one.kept == 0 for one in accepted(chain_id))
