"""Reads from an undo's audit entry which versions it undid, so that an undo of an undo is recognised."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.core.plans import in_parts
from memoryhub.models import AuditEntry, ImportItem, MemoryVersion

COMMANDS = ("undo", "revert")


def taken_out(store_id: str, seqs: Iterable[int]) -> dict[int, frozenset[str]]:
    """Return, for each of these entries that is an undo, the ids of the versions that it undid.

    Entries that were removed, or whose input was redacted, are left out.
    """
    found: dict[int, frozenset[str]] = {}
    for part in in_parts(sorted(set(seqs))):
        entries = AuditEntry.objects.of_chain(store_id).of_seqs(part).filter(ok=True, command__in=COMMANDS)
        for entry in entries.only("chain", "seq", "command", "input"):
            found[entry.seq] = frozenset(_named(store_id, entry.seq, told_in(entry)))
    return found


def told_in(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry's input if it is an object, else an empty one."""
    value = json.loads(entry.input or "{}")
    return value if isinstance(value, dict) else {}


def _named(store_id: str, seq: int, told: dict[str, Any]) -> Collection[str]:
    named = told.get("versions")
    return named if isinstance(named, list) else undone_by(store_id, seq, told)


def undone_by(store_id: str, seq: int, told: dict[str, Any]) -> Collection[str]:
    """Return the ids of what an entry undid: a session's earlier versions, or those of an entry or import."""
    if told.get("session"):
        of_session = AuditEntry.objects.of_chain(store_id).of_session(str(told["session"])).filter(seq__lt=seq)
        seqs = list(of_session.values_list("seq", flat=True))
    elif told.get("import"):
        items = ImportItem.objects.filter(job_id=str(told["import"]), seq__lt=seq)
        seqs = [number for number in items.values_list("seq", flat=True) if number is not None]
    else:
        seqs = [int(told["entry"])] if told.get("entry") else []
    found: list[str] = []
    for part in in_parts(seqs):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part)
        found += made.values_list("pk", flat=True)
    return found


def without_cancelled(store_id: str, steps: Sequence[MemoryVersion], undone: frozenset[str]) -> frozenset[str]:
    """Return the undone versions of a memory, with those undos of them that were undone and the undos of these.

    `steps` are the memory's versions from the first undone one. A version, its undo and the undo of that undo leave the
    version in force: undoing it again skips all three.
    """
    by_people = [step for step in steps if step.review_state is None and step.pk not in undone]
    taken = taken_out(store_id, [step.seq for step in by_people])
    here = {step.pk for step in steps}
    undos = {step.pk: taken[step.seq] & here for step in by_people if step.seq in taken}
    by: dict[str, str] = {}
    for undo in reversed(undos):
        if undo not in by:
            by |= dict.fromkeys(undos[undo], undo)
    passed = set(undone)
    for undo, targets in undos.items():
        if undo in by and targets & passed:
            passed |= {by[undo], *undos[by[undo]]}
    return frozenset(passed)


@dataclass(frozen=True, slots=True)
class Consequences:
    """The effects of an undo on other versions.

    `versions` are no longer in force; this includes the undone versions. `undos` are seqs of undone entries; what these
    entries reverted awaits review again.
    """

    versions: frozenset[str]
    undos: tuple[int, ...]


def consequences(store_id: str, versions: Collection[str], kept: Collection[str]) -> Consequences:
    """Return the effects of undoing versions outside of `kept` memories: undoing an undo restores its targets."""
    out, undos, level, goes_out = set(versions), list[int](), set(versions), True
    while level:
        seqs: set[int] = set()
        for part in in_parts(sorted(level)):
            by_people = MemoryVersion.objects.among(store_id, part).filter(review_state=None)
            seqs.update(by_people.exclude(memory_id__in=kept).values_list("seq", flat=True))
        taken = taken_out(store_id, seqs)
        level = {version for targets in taken.values() for version in targets}
        if goes_out:
            undos += sorted(taken)
        else:
            out |= level
        goes_out = not goes_out
    return Consequences(frozenset(out), tuple(undos))
