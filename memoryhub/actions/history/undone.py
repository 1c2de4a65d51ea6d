"""Finds out from the entries of undos which versions they undid."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.core.plans import in_parts
from memoryhub.models import AuditEntry, ImportItem, Memory, MemoryVersion, Redaction

COMMANDS = ("undo", "revert", "take_out")


Taken = Mapping[int, frozenset[str]]
"""{seq of an undo: ids of the versions that it undid}."""


def taken_out(store_id: str, seqs: Iterable[int], memories: Collection[str] | None = None) -> dict[int, frozenset[str]]:
    """Return {seq of an undo: ids of the versions that it undid} for the undos among the entries `seqs`.

    With `memories`, versions of other memories may be missing. Removed entries are left out. An entry whose input was
    redacted has no ids.
    """
    found: dict[int, frozenset[str]] = {}
    for part in in_parts(sorted(set(seqs))):
        entries = AuditEntry.objects.of_chain(store_id).of_seqs(part).filter(ok=True, command__in=COMMANDS)
        for entry in entries.only("chain", "seq", "command", "input"):
            found[entry.seq] = frozenset(_named(store_id, entry.seq, told_in(entry), memories))
    return found


def taken_out_of(store_id: str, seqs: Iterable[int], memories: Collection[str]) -> dict[str, dict[int, frozenset[str]]]:
    """Return {memory: {seq of an undo: ids of the memory's versions that it undid}} for the entries `seqs`."""
    taken, own = taken_out(store_id, seqs, memories), dict[str, str]()
    for part in in_parts(sorted(set().union(*taken.values()))):
        of_memories = MemoryVersion.objects.among(store_id, part).filter(memory_id__in=memories)
        own |= dict(of_memories.values_list("pk", "memory_id"))
    found = {memory: dict.fromkeys(taken, frozenset[str]()) for memory in memories}
    for seq, versions in taken.items():
        by_memory: dict[str, list[str]] = defaultdict(list)
        for version in versions & own.keys():
            by_memory[own[version]].append(version)
        for memory, of_memory in by_memory.items():
            found[memory][seq] = frozenset(of_memory)
    return found


def told_in(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry's input, if it is a JSON object, else an empty dict."""
    value = json.loads(entry.input or "{}")
    return value if isinstance(value, dict) else {}


def _named(store_id: str, seq: int, details: dict[str, Any], memories: Collection[str] | None) -> Collection[str]:
    named, settled = details.get("versions"), details.get("settled")
    undone = named if isinstance(named, list) else undone_by(store_id, seq, details, memories)
    return [*undone, *settled] if isinstance(settled, list) else undone


def undone_by(
    store_id: str, seq: int, details: dict[str, Any], memories: Collection[str] | None = None
) -> Collection[str]:
    """Return the ids of the versions that the undo with the seq `seq` undid. `details` is the input of its entry.

    `details` names a session, an import, an entry or a version; its field `too` lists further entries. With `memories`,
    only versions of these memories are returned.
    """
    if details.get("session"):
        of_session = AuditEntry.objects.of_chain(store_id).of_session(str(details["session"])).filter(seq__lt=seq)
        seqs = list(of_session.values_list("seq", flat=True))
    elif details.get("import"):
        items = ImportItem.objects.filter(job_id=str(details["import"]), seq__lt=seq)
        seqs = [number for number in items.values_list("seq", flat=True) if number is not None]
    else:
        seqs = [int(details["entry"])] if details.get("entry") else []
    found = [str(details["version"])] if details.get("version") else []
    for part in in_parts([*seqs, *(int(number) for number in details.get("too") or ())]):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part)
        made = made if memories is None else made.filter(memory_id__in=memories)
        found += made.values_list("pk", flat=True)
    return found


def by_people(steps: Iterable[MemoryVersion]) -> list[MemoryVersion]:
    """Return the given versions that people wrote: only these can be the result of an undo."""
    return [step for step in steps if step.review_state is None]


def without_cancelled(steps: Sequence[MemoryVersion], undone: frozenset[str], taken: Taken) -> frozenset[str]:
    """Return the ids of the versions to skip when a memory's `steps` are replayed without the `undone` versions.

    `steps` are the memory's versions from the first undone one, and `taken` are the undos among them. For example,
    version 2 undid version 1, and version 3 undid version 2, so version 1 is in force again. If version 1 is among the
    `undone` versions, versions 2 and 3 are skipped too.
    """
    here = {step.pk for step in steps}
    undos = {
        step.pk: taken[step.seq] & here for step in by_people(steps) if step.seq in taken and step.pk not in undone
    }
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
class Undoing:
    """How far an act is undone: `of` is the number of its versions, and `count` of them are undone.

    `seq` is the seq of the newest undo that is in force and undid a version of the act.
    """

    seq: int
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of


def undoing(store_id: str, seqs: Collection[int]) -> dict[int, Undoing]:
    """Return {seq of an entry: how far it is undone}, for the entries that are undone in whole or in part.

    Only undos in force count.
    """
    made, here = dict[str, int](), dict[str, str]()
    for part in in_parts(sorted(set(seqs))):
        rows = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).values_list("pk", "seq", "memory_id")
        made |= {pk: seq for pk, seq, _ in rows}
        here |= {pk: memory for pk, _, memory in rows}
    by = undone_in_force(store_id, here, min(seqs)) if here else {}
    gone: dict[int, list[int]] = {}
    for pk in made.keys() & by.keys():
        gone.setdefault(made[pk], []).append(by[pk])
    of, removed = Counter(made.values()), _removed(store_id, gone)
    return {
        seq: Undoing(max(undos), len(undos) + sum(removed[seq]), of[seq] + len(removed[seq]))
        for seq, undos in gone.items()
    }


def undone_in_force(store_id: str, versions: Mapping[str, str], after: int) -> dict[str, int]:
    """Return {version id: seq of the undo in force that undid the version}. Only undos after the entry `after` count.

    `versions` is {version id: memory id}. The result has those of `versions` that are undone, and also undone versions
    that people wrote in these memories after the entry `after`.
    """
    here, steps = dict(versions), list[tuple[str, int, str]]()
    for memories in in_parts(sorted(set(versions.values()))):
        later = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=memories, seq__gt=after)
        steps += later.filter(review_state=None).values_list("pk", "seq", "memory_id")
    here |= {pk: memory for pk, _, memory in steps}
    taken, by = taken_out(store_id, [seq for _, seq, _ in steps]), dict[str, int]()
    for pk, seq, memory in sorted(steps, key=lambda step: -step[1]):
        if pk not in by:
            by |= {target: seq for target in taken.get(seq, ()) if here.get(target) == memory}
    return by


def _removed(store_id: str, gone: Mapping[int, Collection[int]]) -> dict[int, list[bool]]:
    """Return {seq of an entry: a list of bools}. Each bool says whether a removed version of the entry is undone.

    Versions of memories that no longer exist are left out. `gone` is {seq of the entry: seqs of the undos of its other
    versions}. A removed version is undone if one of these undos also changed its memory.
    """
    removed = Redaction.objects.of_chain(store_id).removed()
    found: dict[int, list[bool]] = {seq: [] for seq in gone}
    of_entry = [
        pair
        for part in in_parts(sorted(gone))
        for pair in removed.filter(entry_seq__in=part).values_list("entry_seq", "memory")
    ]
    for part in in_parts(sorted({memory for _, memory in of_entry if memory})):
        there = set(Memory.objects.among(store_id, part).values_list("pk", flat=True))
        seqs = {undo for seq, memory in of_entry if memory in there for undo in gone[seq]}
        left = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=there, seq__in=seqs)
        made: set[tuple[str | None, int]] = set(left.values_list("memory_id", "seq"))
        made |= set(removed.filter(memory__in=there, entry_seq__in=seqs).values_list("memory", "entry_seq"))
        for seq, memory in of_entry:
            if memory in there:
                found[seq].append(any((memory, undo) in made for undo in gone[seq]))
    return found


@dataclass(frozen=True, slots=True)
class Consequences:
    """The effects of an undo. `versions` are all versions that are not in force after it.

    `undos` are the earlier undos that it undoes: {seq of the earlier undo: the memories in which it stays in force}. In
    other memories, the versions that the earlier undo reverted await review again.
    """

    versions: frozenset[str]
    undos: Mapping[int, frozenset[str]]


def consequences(store_id: str, versions: Collection[str], kept: Collection[str]) -> Consequences:
    """Return the consequences of undoing these versions. In the `kept` memories, no undo is undone.

    If an undo is undone in a memory, the versions that it undid there are in force again. The result has all given
    versions, also those of the `kept` memories.
    """
    out, undos, level, goes_out = set(versions), dict[int, frozenset[str]](), set(versions), True
    while level:
        seqs: set[int] = set()
        for part in in_parts(sorted(level)):
            by_people = MemoryVersion.objects.among(store_id, part).filter(review_state=None)
            seqs.update(by_people.exclude(memory_id__in=kept).values_list("seq", flat=True))
        taken = taken_out(store_id, seqs)
        stays = _elsewhere(store_id, taken, level, kept)
        memories = _memories(store_id, {version for targets in taken.values() for version in targets} - out)
        level = {
            pk for seq, targets in taken.items() for pk in targets & memories.keys() if memories[pk] not in stays[seq]
        }
        if goes_out:
            undos |= stays
        else:
            out |= level
        goes_out = not goes_out
    return Consequences(frozenset(out), undos)


def _elsewhere(
    store_id: str, seqs: Collection[int], versions: Collection[str], kept: Collection[str]
) -> dict[int, frozenset[str]]:
    """Return {seq: the memories in which this entry stays in force}.

    A memory is one of these if it is in `kept`, or if the entry made a version in it that is not in `versions`.
    """
    found: dict[int, set[str]] = {seq: set() for seq in seqs}
    for part in in_parts(sorted(seqs)):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).values_list("seq", "memory_id", "pk")
        for seq, memory, version in made:
            if version not in versions or memory in kept:
                found[seq].add(memory)
    return {seq: frozenset(memories) for seq, memories in found.items()}


def _memories(store_id: str, versions: Collection[str]) -> dict[str, str]:
    """Return {version id: memory id} for the given versions that exist."""
    found: dict[str, str] = {}
    for part in in_parts(sorted(versions)):
        found |= dict(MemoryVersion.objects.among(store_id, part).values_list("pk", "memory_id"))
    return found
