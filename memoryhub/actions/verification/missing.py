"""Records why entries that checkpoints name are missing from the database, for example after a restore.

The record is an act in the hub's chain. For each chain with a gap, it names the last entry before the gap, and the last
entry of the gap that a checkpoint names. A checkpoint that names an entry of the gap is then no problem if it was
written before the act, or while the clock was ahead.
"""

import json
from collections import defaultdict
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
    """A chain whose entries after `kept`, up to `last`, are missing. `reason` and `at` are those of the act that
    accepted the gap.

    Some checkpoints that name these entries may have been written while the clock was ahead: `ahead` has the earliest
    and the latest time in them (None: there are none).
    """

    chain: str
    kept: int
    last: int
    reason: str = ""
    at: datetime | None = None
    ahead: tuple[str, str] | None = None

    def explains(self, checkpoint: Checkpoint) -> bool:
        """Return whether a checkpoint names one of the missing entries, and has a time before the act or in
        `ahead`."""
        within = checkpoint.chain == self.chain and self.kept < checkpoint.seq <= self.last
        if not within or self.at is None:
            return False
        first, last = self.ahead or ("", "")
        return checkpoint.at <= chain.moment(self.at) or first <= checkpoint.at <= last

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
        rows, ahead = details.get("chains") or [], details.get("ahead") or {}
        for name, kept, last in rows:
            moments = tuple(ahead[name]) if name in ahead else None
            found.append(Missing(str(name), int(kept), int(last), str(details.get("reason")), at, moments))
    return found


def find(path: Path, now: datetime) -> list[Missing]:
    """Return the chains for which unexplained checkpoints name entries that are missing or different."""
    explained = all_accepted()
    wrong: dict[str, list[Checkpoint]] = defaultdict(list)
    for placed in reading.Files(path):
        one = placed.checkpoint
        if not any(reason.explains(one) for reason in explained) and not _is_there(one):
            wrong[one.chain].append(one)
    return [_gap(name, wrong[name], chain.moment(now)) for name in sorted(wrong)]


def _gap(name: str, wrong: Sequence[Checkpoint], now: str) -> Missing:
    seqs, later = [one.seq for one in wrong], [one.at for one in wrong if one.at > now]
    ahead = (min(later), max(later)) if later else None
    return Missing(name, _kept(name, min(seqs)), max(seqs), ahead=ahead)


def accept(path: Path, reason: str, act: Act) -> Sequence[Missing]:
    """Record why entries are missing, and return the gaps. If there are no gaps, nothing is written."""
    found = find(path, act.at)
    if found:
        details: dict[str, object] = {"reason": reason, "chains": [[one.chain, one.kept, one.last] for one in found]}
        if ahead := {one.chain: one.ahead for one in found if one.ahead}:
            details["ahead"] = ahead
        with writing():
            audit.on_hub(act, Record(COMMAND, input=audit.to_json(details)))
    return found


def _is_there(checkpoint: Checkpoint) -> bool:
    start = AuditChain.objects.filter(pk=checkpoint.chain).values_list("start_seq", flat=True).first() or 0
    if checkpoint.seq <= start:
        return True
    return AuditEntry.objects.filter(chain=checkpoint.chain, seq=checkpoint.seq, hash=checkpoint.hash).exists()


def _kept(chain_id: str, first_wrong: int) -> int:
    """Return the seq of the last entry before `first_wrong`, or of the chain's last entry if that is lower."""
    head = AuditChain.objects.filter(pk=chain_id).values_list("last_seq", flat=True).first() or 0
    return min(head, first_wrong - 1)


def is_gone(chain_id: str) -> bool:
    """Return whether a whole chain is missing and a person has accepted this."""
    there = AuditChain.objects.filter(pk=chain_id).exists() or AuditEntry.objects.of_chain(chain_id).exists()
    return not there and any(one.kept == 0 for one in accepted(chain_id))
