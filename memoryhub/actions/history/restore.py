"""Plans that restore a memory, a directory or a whole store to its state after one entry."""

from collections.abc import Iterable, Iterator

from django.db.models import F, Q

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import Change, Choice, Plan, Problem, State, in_parts
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.models import Memory, MemoryVersion, Redaction
from memoryhub.models.audit import LAST_SEQ

MOST_LATER = 5
"""The most later versions of each memory that a plan lists."""


def restore_plan(store_id: str, seq: int, *, path: str | None = None, memory: str | None = None) -> Plan:
    """Return the plan that restores a memory, a directory or the store to its state after entry `seq`.

    `memory` is the id of the memory, and `path` is the directory; both None: the whole store. The plan for a directory
    covers the memories that were in it then, or are in it now. Raises plans.TooMuch.
    """
    with snapshot():
        concerned = _concerned(store_id, seq, path, memory)
        return plans.made(store_id, _changes(store_id, seq, concerned))


def _concerned(store_id: str, seq: int, path: str | None, memory: str | None) -> set[str]:
    """Return the ids of the memories that may have changed since the entry `seq`. Raises plans.TooMuch."""
    if memory is not None:
        return {memory}
    if path:
        now = Memory.objects.filter(store_id=store_id).under(path).values_list("pk", flat=True)
        then = MemoryVersion.objects.filter(store_id=store_id).under(path).as_of(seq)
        return {*now, *then.values_list("memory_id", flat=True)}
    later = MemoryVersion.objects.filter(store_id=store_id).between(seq, LAST_SEQ)
    found = set(later.order_by().values_list("memory_id", flat=True).distinct()[: 2 * plans.MOST + 1])
    if len(found) > 2 * plans.MOST:
        raise plans.TooMuch(len(found), plans.MOST)
    return found


def _changes(store_id: str, seq: int, concerned: Iterable[str]) -> Iterator[Change]:
    for part in in_parts(sorted(concerned)):
        states = _states(store_id, seq, part)
        for memory in Memory.objects.among(store_id, part):
            version, later = states.get(memory.pk, (None, []))
            change = _change(memory, version, later)
            unknown = version is None and memory.removed_versions and _was_removed(memory, seq)
            yield without_text(change) if unknown else change


def _was_removed(memory: Memory, seq: int) -> bool:
    """Return whether retention may have removed the version that was current right after the entry `seq`."""
    rows = Redaction.objects.of_memories(memory.store_id, [memory.pk]).removed()
    first = rows.filter(number=1).first()
    if first is None:  # it still exists, or it and the entry that recorded its removal were both removed
        return not MemoryVersion.objects.of_memory(memory).filter(number=1, seq__gt=seq).exists()
    return rows.filter(Q(superseded_seq=None) | Q(superseded_seq__gt=seq), entry_seq__lte=seq).exists()


def _states(store_id: str, seq: int, ids: list[str]) -> dict[str, tuple[MemoryVersion | None, list[MemoryVersion]]]:
    """Return {memory: (version, later)}.

    `version` is the version that was current right after the entry `seq`, or None. `later` are the versions after
    this entry, but only those among the memory's newest MOST_LATER versions.
    """
    found: dict[str, tuple[MemoryVersion | None, list[MemoryVersion]]] = {}
    versions = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=ids)
    newest = versions.filter(seq__gt=seq, number__gt=F("memory__version_count") - MOST_LATER)
    for version in newest.order_by("memory_id", "number"):
        found.setdefault(version.memory_id, (None, []))[1].append(version)
    for version in versions.as_of(seq):
        found[version.memory_id] = (version, found.get(version.memory_id, (None, []))[1])
    return found


def _change(memory: Memory, version: MemoryVersion | None, later: list[MemoryVersion]) -> Change:
    now, then = plans.of_memory(memory), plans.of_version(version)
    before = version.number if version else memory.removed_versions
    change = Change(
        memory.pk,
        memory.head_id,
        memory.version_count,
        now,
        then,
        later=tuple(later),
        more_later=max(0, memory.version_count - before - len(later)),
        version=version.pk if version else "",
    )
    return without_text(change) if then.is_redacted else change


def without_text(change: Change) -> Change:
    """Return the change of a memory whose earlier text no longer exists. Its only choice is KEEP."""
    gone = State(change.now.path, change.now.text, change.now.size, change.now.sha256)
    return Change(
        change.memory,
        change.head,
        change.number,
        change.now,
        gone,
        later=change.later,
        more_later=change.more_later,
        problem=Problem.REDACTED,
        choices=(Choice.KEEP,),
    )
