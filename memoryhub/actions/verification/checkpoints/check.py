"""Compares the checkpoint files with the entries. Each line is read once, in order."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from memoryhub.actions.verification import missing
from memoryhub.actions.verification.checkpoints import reading
from memoryhub.actions.verification.checkpoints.reading import Placed
from memoryhub.models import AuditChain, AuditEntry

LINES = 1_000
"""The number of lines that are compared with the entries at once."""


@dataclass(slots=True)
class Checked:
    """The result of checking the files."""

    chains: set[str] = field(default_factory=set)  # ids of the chains in the files
    files: list[str] = field(default_factory=list)  # the problems of the files themselves
    absent: list[int] = field(default_factory=list)  # numbers of the oldest segments, if these are kept elsewhere
    lost: set[str] = field(default_factory=set)  # names of needed audit keys that the hub does not have
    # (seq, sentence) of the first wrong entry, by chain
    problems: dict[str, tuple[int, str]] = field(default_factory=dict)


def check(path: Path, only: str | None = None, archive: Path | None = None) -> Checked:
    """Check all lines, or only the lines of the chain `only`. Return the result.

    `archive` is a second directory with segments. Do not call this function in a snapshot of the database: a snapshot
    may lack the newest entries.
    """
    found, files = Checked(), reading.Files(path, archive)
    lines = iter(files)
    while part := list(islice(lines, LINES)):
        of_chain = defaultdict(list)
        for placed in part:
            if only in (None, placed.checkpoint.chain):
                found.chains.add(placed.checkpoint.chain)
                of_chain[placed.checkpoint.chain].append(placed)
        for chain, checkpoints in of_chain.items():
            if chain not in found.problems and (problem := next(_problems(chain, checkpoints), None)):
                found.problems[chain] = problem
    found.files, found.absent, found.lost = files.problems, files.absent, files.lost
    return found


def _problems(chain: str, checkpoints: list[Placed]) -> Iterator[tuple[int, str]]:
    seqs = {placed.checkpoint.seq for placed in checkpoints}
    hashes = dict(AuditEntry.objects.of_chain(chain).of_seqs(seqs).values_list("seq", "hash"))
    removed = AuditChain.objects.filter(pk=chain).values_list("start_seq", flat=True).first() or 0
    explained = missing.accepted(chain)
    for file, number, checkpoint in checkpoints:
        seq, at = checkpoint.seq, checkpoint.at
        if seq <= removed or any(one.explains(checkpoint) for one in explained):
            continue
        if seq not in hashes:
            yield seq, f"it is missing; it was there at {at} ({file} line {number})"
        elif hashes[seq] != checkpoint.hash:
            yield seq, f"it is not the one of {at} ({file} line {number})"
