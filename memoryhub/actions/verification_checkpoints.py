"""The checkpoint file against the entries: read once, from its first line to its last, for all chains together."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from memoryhub.actions import checkpoints, missing
from memoryhub.actions.checkpoints import Checkpoint
from memoryhub.models import AuditChain, AuditEntry

LINES = 1_000
"""Lines that are held against the entries at once."""

Line = tuple[int, Checkpoint]


@dataclass(slots=True)
class Checked:
    """What the file says: the chains that it names, the numbers of its changed lines, and of each chain the first
    entry (seq, sentence) that is not as it was at a checkpoint."""

    chains: set[str] = field(default_factory=set)
    unreadable: list[int] = field(default_factory=list)
    problems: dict[str, tuple[int, str]] = field(default_factory=dict)


def check(path: Path, only: str | None = None) -> Checked:
    """Reads the file, or of it one chain's lines alone. Outside a snapshot: an entry is older than its checkpoint."""
    found, lines = Checked(), checkpoints.read(path)
    while part := list(islice(lines, LINES)):
        of_chain = defaultdict(list)
        for number, checkpoint in part:
            if checkpoint is None:
                found.unreadable.append(number)
            elif only in (None, checkpoint.chain):
                found.chains.add(checkpoint.chain)
                of_chain[checkpoint.chain].append((number, checkpoint))
        for chain, told in of_chain.items():
            if chain not in found.problems and (problem := next(_problems(chain, told), None)):
                found.problems[chain] = problem
    return found


def _problems(chain: str, told: list[Line]) -> Iterator[tuple[int, str]]:
    seqs = {checkpoint.seq for _, checkpoint in told}
    hashes = dict(AuditEntry.objects.of_chain(chain).of_seqs(seqs).values_list("seq", "hash"))
    removed = AuditChain.objects.filter(pk=chain).values_list("start_seq", flat=True).first() or 0
    explained = missing.accepted(chain)
    for number, checkpoint in told:
        seq, at = checkpoint.seq, checkpoint.at
        if seq <= removed or any(one.explains(checkpoint) for one in explained):
            continue
        if seq not in hashes:
            yield seq, f"it is missing; it was there at {at} (checkpoint line {number})"
        elif hashes[seq] != checkpoint.hash:
            yield seq, f"it is not the one of {at} (checkpoint line {number})"
