"""Entries that checkpoints know and the database has no more, as after a restore: why, in an audited act.

The act is an entry of the hub's own chain. It names for each chain the last entry that is there, and the last one that
a checkpoint tells of; checkpoints that are older than the act and lie between these two are explained by it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoryhub import chain
from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.verification import checkpoint_reading
from memoryhub.actions.verification.checkpoint_lines import Checkpoint
from memoryhub.models import HUB, AuditChain, AuditEntry

COMMAND = "accept_missing"


@dataclass(frozen=True, slots=True)
class Missing:
    """Of a chain: the entries after `kept` up to `last` are missing; with the reason and moment of who said so."""

    chain: str
    kept: int
    last: int
    reason: str = ""
    at: datetime | None = None

    def explains(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint tells of one of these entries, and was written before the act."""
        within = checkpoint.chain == self.chain and self.kept < checkpoint.seq <= self.last
        return within and self.at is not None and checkpoint.at <= chain.moment(self.at)

    def __str__(self) -> str:
        said = f"accepted at {self.at:%Y-%m-%d %H:%M}: {self.reason}"
        return f"entries {self.kept + 1} to {self.last} are missing, {said}"


def accepted(chain_id: str) -> list[Missing]:
    """What was accepted of a chain."""
    return [one for one in all_accepted() if one.chain == chain_id]


def all_accepted() -> list[Missing]:
    """What was accepted of every chain, by the entries that say so."""
    entries = AuditEntry.objects.of_chain(HUB).of_command(COMMAND).that_ended(True).oldest()
    found = []
    for input, at in entries.values_list("input", "at"):
        told = json.loads(input or "{}")
        rows = told.get("chains") or []
        found += [Missing(str(name), int(kept), int(last), str(told.get("reason")), at) for name, kept, last in rows]
    return found


def find(path: Path) -> list[Missing]:
    """Chains of which checkpoints tell entries that are not there, or that are others now, and are not explained."""
    explained = all_accepted()
    wrong: dict[str, tuple[int, int]] = {}
    for placed in checkpoint_reading.Files(path):
        one, seq = placed.checkpoint, placed.checkpoint.seq
        if not any(told.explains(one) for told in explained) and not _is_there(one):
            first, last = wrong.get(one.chain, (seq, seq))
            wrong[one.chain] = min(first, seq), max(last, seq)
    return [Missing(name, _kept(name, first), last) for name, (first, last) in sorted(wrong.items())]


def accept(path: Path, reason: str, act: Act) -> Sequence[Missing]:
    """Writes down why entries are missing; gives which. Nothing is written where none are."""
    found = find(path)
    if found:
        told = {"reason": reason, "chains": [[one.chain, one.kept, one.last] for one in found]}
        with writing():
            audit.on_hub(act, Record(COMMAND, input=audit.to_json(told)))
    return found


def _is_there(checkpoint: Checkpoint) -> bool:
    start = AuditChain.objects.filter(pk=checkpoint.chain).values_list("start_seq", flat=True).first() or 0
    if checkpoint.seq <= start:
        return True
    return AuditEntry.objects.filter(chain=checkpoint.chain, seq=checkpoint.seq, hash=checkpoint.hash).exists()


def _kept(chain_id: str, first_wrong: int) -> int:
    """The last entry before the first wrong checkpoint: what came after it may have been written since."""
    head = AuditChain.objects.filter(pk=chain_id).values_list("last_seq", flat=True).first() or 0
    return min(head, first_wrong - 1)


def is_gone(chain_id: str) -> bool:
    """Whether a chain is missing as a whole, and that was accepted."""
    there = AuditChain.objects.filter(pk=chain_id).exists() or AuditEntry.objects.of_chain(chain_id).exists()
    return not there and any(one.kept == 0 for one in accepted(chain_id))
