"""Plans that undo some versions of memories, and keep the changes of later versions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import Change, Choice, Plan, Problem, State, in_parts
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.history import undone
from memoryhub.actions.history.earlier_undos import with_earlier_undos
from memoryhub.actions.history.replay import History, content_of, replayed
from memoryhub.actions.history.restore import without_text
from memoryhub.actions.history.undone import Taken
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from memoryhub.pure.text.diffs import counts_within
from memoryhub.pure.text.matching import Work

PLAN_WORK = 2_000_000
"""The most work for all merges of one plan, in units of matching.Work: some seconds.

If the store has changed just before it is locked, the plan is made while other writers wait (`history.ahead`). Work is
counted, not timed, so that the applied plan equals the shown one. For memories beyond this limit, no lines are undone:
a person keeps the memory or restores its earlier state.
"""

MOST_READ = 2_000
"""The most versions that are read at once."""


def session_versions(store_id: str, session_id: str, *, most: int | None = None) -> list[str]:
    """Return the ids of the versions that one session wrote in a store, in the order of their entries.

    With `most`, the result is cut soon after this many ids.
    """
    seqs = AuditEntry.objects.of_chain(store_id).of_session(session_id).order_by("seq").values_list("seq", flat=True)
    found: list[str] = []
    for part in in_parts(seqs.iterator(2000)):
        made = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).order_by("seq", "pk")
        found += made.values_list("pk", flat=True)
        if most is not None and len(found) > most:
            break
    return found


def entry_versions(store_id: str, *seqs: int) -> list[str]:
    """Return the ids of the versions that some entries made."""
    return list(MemoryVersion.objects.filter(store_id=store_id, seq__in=seqs).values_list("pk", flat=True))


def undo_plan(store_id: str, versions: Collection[str]) -> Plan:
    """Return the plan that undoes these versions. Raises plans.TooMuch.

    Where possible, the changes of later versions are kept. If lines of the undone versions were changed later, KEEP is
    proposed. APPLY then leaves these lines as they are and undoes the rest; BEFORE drops all later changes.
    """
    with snapshot():
        return plans.made(store_id, _changes(store_id, frozenset(versions)))


def is_left(store_id: str, versions: Collection[str]) -> bool:
    """Return whether anything of these versions is left to undo: a change, or a choice for a person."""
    with snapshot():
        changes = _changes(store_id, frozenset(versions))
        return any(change.problem or not change.then.same(change.now) for change in changes)


def _changes(store_id: str, versions: frozenset[str]) -> Iterator[Change]:
    firsts, work = _firsts(store_id, versions), Work(PLAN_WORK)
    if len(firsts) > plans.MOST:
        raise plans.TooMuch(len(firsts), plans.MOST)
    for memories in _near(store_id, firsts):
        histories = _histories(store_id, memories, firsts)
        by_people = undone.by_people(step for history in histories.values() for step in history)
        taken = undone.taken_out_of(store_id, [step.seq for step in by_people], histories)
        for memory in memories:
            history = histories[memory.pk]
            own = versions.intersection(step.pk for step in history)
            yield _change(memory, history, own, taken[memory.pk], firsts[memory.pk], work)


def _near(store_id: str, firsts: Mapping[str, int]) -> Iterator[list[Memory]]:
    """Yield lists of memories whose histories are loaded together.

    A list has one memory, or several memories with at most MOST_READ versions in total.
    """
    few, count = list[Memory](), 0
    for part in in_parts(sorted(firsts, key=lambda memory: (firsts[memory], memory))):
        there = Memory.objects.among(store_id, part).in_bulk()
        for memory in (there[pk] for pk in part if pk in there):
            length = memory.version_count - firsts[few[0].pk if few else memory.pk] + 2
            if few and count + length > MOST_READ:
                yield few
                few, count = [], 0
            few.append(memory)
            count += length
    if few:
        yield few


def _histories(store_id: str, memories: Sequence[Memory], firsts: Mapping[str, int]) -> dict[str, list[MemoryVersion]]:
    """Return {memory: its versions in order}, from the version before the first one to undo."""
    found: dict[str, list[MemoryVersion]] = {memory.pk: [] for memory in memories}
    rows = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=found, number__gte=firsts[memories[0].pk] - 1)
    for version in rows.order_by("memory_id", "number"):
        if version.number >= firsts[version.memory_id] - 1:
            found[version.memory_id].append(version)
    return found


def _firsts(store_id: str, versions: frozenset[str]) -> dict[str, int]:
    """Return {memory: the number of its first version to undo}."""
    firsts: dict[str, int] = {}
    for part in in_parts(sorted(versions)):
        found = MemoryVersion.objects.among(store_id, part).values_list("memory_id", "number")
        for memory, number in found:
            firsts[memory] = min(number, firsts.get(memory, number))
    return firsts


def _change(
    memory: Memory,
    history: Sequence[MemoryVersion],
    versions: frozenset[str],
    taken: Taken,
    first: int,
    work: Work,
) -> Change:
    """Return the change of one memory if `versions` are undone. `taken` are the undos in `history`."""
    base = history[0] if history[0].number < first else None
    steps = history[1:] if base else history
    passed = undone.without_cancelled(steps, versions, taken)
    before, now = plans.of_version(base), plans.of_memory(memory)
    later = tuple(step for step in steps if step.pk not in passed)
    cancelled = passed - versions
    change = Change(memory.pk, memory.head_id, memory.version_count, now, before, later=later, cancelled=cancelled)
    told = replayed(History.after(base, memory, first, work), steps, passed)
    told = with_earlier_undos(told, base, steps, versions, taken)
    if _has_gaps(base, steps, first):
        return without_text(change)
    if told.gone or before.is_redacted:
        return without_text(change)
    if told.unmerged:
        choices = (Choice.KEEP, Choice.BEFORE)
        return replace(change, then=now, before=before, problem=Problem.UNMERGED, choices=choices, later_lines=None)
    change = replace(change, then=told.outcome)
    if not told.conflict or (told.outcome.same(now) and before.same(now)):
        return change
    return _asked(memory.store_id, change, before, work)


def _asked(store: str, change: Change, before: State, work: Work) -> Change:
    """Return a change that has a conflict, with its choices and the number of lines that BEFORE would drop."""
    choices: tuple[Choice, ...] = (Choice.KEEP, Choice.APPLY, Choice.BEFORE)
    if change.then.same(change.now):
        choices = (Choice.KEEP, Choice.BEFORE)
    elif change.then.same(before):
        choices = (Choice.KEEP, Choice.APPLY)
    texts = (content_of(store, before) or "" if before.is_there else "", content_of(store, change.then) or "")
    counted = counts_within(work, *texts) if change.then.is_there else (0, 0)
    return replace(change, before=before, problem=Problem.CONFLICT, choices=choices, later_lines=counted and counted[0])


def _has_gaps(base: MemoryVersion | None, steps: Sequence[MemoryVersion], first: int) -> bool:
    """Return whether retention has removed a version that the replay needs."""
    numbers = [step.number for step in steps]
    return (first > 1 and base is None) or numbers != list(range(first, first + len(numbers)))
