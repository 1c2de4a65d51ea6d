"""Keeps earlier undos in force when a memory's history is replayed for another undo.

A replay treats an earlier undo as a usual edit, so a line of a version that it undid can come back. Therefore, the
history is replayed once more, without the earlier undos and the versions that they undid. The result is used only after
a check: the same replay, but without the new undo, has to result in the memory's current text.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace

from memoryhub.actions.core import plans
from memoryhub.actions.history import undone
from memoryhub.actions.history.replay import MOST_STEPS, History, replayed
from memoryhub.actions.history.undone import Taken
from memoryhub.models import Memory, MemoryVersion
from memoryhub.models.memories import MemoryVersionQuerySet

MOST_REPLAYED = 1_000
"""The most versions of one memory that are replayed in all: each undo costs a replay of the versions before it."""

Undos = Mapping[str, Collection[str]]
"""{version that an undo made: the versions of the same memory that it undid}, in the order in which the undos were
made."""


def with_earlier_undos(
    told: History, base: MemoryVersion | None, steps: Sequence[MemoryVersion], versions: Set[str], taken: Taken
) -> History:
    """Return the history of a memory without `versions`, and without the versions that earlier undos took back.

    `told` is the memory's replay from the first of `versions` on: `steps` are the replayed versions, `base` is the
    version before them, and `taken` are the undos among them. Return `told` itself if there are no earlier undos, if
    they change nothing, or if a replay without them is not possible."""
    memory, work = told.memory, told.work
    undos = _undos(steps, taken)
    if not undos.keys() - versions:
        return told
    first = min([steps[0].number, *_numbers(memory, undos, steps)])
    if first < steps[0].number:
        history = list(_from(memory, first - 1))
        base, steps = (history[0], history[1:]) if first > 1 else (None, history)
        older = [step.seq for step in undone.by_people(steps) if step.seq not in taken]
        undos = _undos(steps, {**undone.taken_out(memory.store_id, older, [memory.pk]), **taken})
    is_whole = [one.number for one in (base, *steps) if one] == [*range(max(first - 1, 1), memory.version_count + 1)]
    if not is_whole or len(steps) > MOST_STEPS or len(steps) * len(undos) > MOST_REPLAYED:
        return told

    def without(gone: Set[str], pure: Undos, until: int | None = None) -> History:
        passed = _not_in_force(pure, gone)
        return replayed(History.after(base, memory, first, work), steps[:until], passed)

    pure: dict[str, Collection[str]] = {}
    for place, step in enumerate(steps):
        if step.pk in undos:
            wider = {**pure, step.pk: undos[step.pk]}
            if _is(without(frozenset(), wider, place), plans.of_version(step)):
                pure = wider
    now = plans.of_memory(memory)
    if not pure or not _is(without(frozenset(), pure), now):
        return told
    found = without(versions, pure)
    changes_nothing = found.gone or found.unmerged or found.outcome.same(told.outcome)
    return told if changes_nothing else replace(found, conflict=found.conflict and not found.outcome.same(now))


def _from(memory: Memory, number: int) -> MemoryVersionQuerySet:
    return MemoryVersion.objects.of_memory(memory).filter(number__gte=number).order_by("number")


def _undos(steps: Sequence[MemoryVersion], taken: Taken) -> dict[str, Collection[str]]:
    return {step.pk: taken[step.seq] for step in undone.by_people(steps) if step.seq in taken}


def _numbers(memory: Memory, undos: Undos, steps: Sequence[MemoryVersion]) -> list[int]:
    """Return the numbers of the memory's versions that these undos undid, without the numbers of `steps`."""
    targets = {version for of_undo in undos.values() for version in of_undo} - {step.pk for step in steps}
    of_memory = MemoryVersion.objects.of_memory(memory)
    return [
        number
        for part in plans.in_parts(sorted(targets))
        for number in of_memory.filter(pk__in=part).values_list("number", flat=True)
    ]


def _not_in_force(undos: Undos, gone: Set[str]) -> frozenset[str]:
    """Return the ids of the versions that a replay skips.

    These are `gone`, the versions that `undos` made, and each version that an undo in force has undone. An undo is in
    force unless its version is in `gone`, or a later undo in force has undone it.
    """
    found = set(gone)
    for undo in reversed(list(undos)):
        if undo not in found:
            found.update(undos[undo])
    return frozenset(found.union(undos))


def _is(told: History, state: plans.State) -> bool:
    return not (told.gone or told.unmerged) and told.outcome.same(state)
