"""Plans of proposals: how the memories would look if the proposed changes were merged now."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State
from memoryhub.actions.core.snapshot import snapshot
from memoryhub.models import Memory, MemoryVersion, Proposal, ProposedChange
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.text.matching import Work, cost_of_matching
from memoryhub.text.merging import Merge
from memoryhub.text.proposed import OutOfWork, Wish, joined, onto

PLAN_WORK = 1_000_000
"""The most work for all merges of one plan, in units of matching.Work. A decision makes the plan while it holds the
lock of the store, so other writers wait for it."""

_OVER = (Choice.KEEP, Choice.BEFORE)


def proposal_plan(proposal: Proposal, work: Work | None = None) -> Plan:
    """Return the plan that merges a proposal into the current memories.

    In a conflict, the choice BEFORE prefers the proposed change to newer changes. A change can only be refused if a
    text that it needs no longer exists, or if its merge would exceed PLAN_WORK, or what is left of a shared `work`. A
    change that its memory already has is left out.
    """
    with snapshot():
        changes = list(ProposedChange.objects.of_proposal(proposal))
        return plans.made(proposal.store_id, _changes(proposal.store_id, changes, work or Work(PLAN_WORK)))


def by_memory(changes: Iterable[ProposedChange]) -> dict[str, list[ProposedChange]]:
    """Return {name of a memory in the plan: its changes}.

    The name is the memory's id. If the memory does not exist yet, the name is the id of the first change at its path.
    """
    found: dict[str, list[ProposedChange]] = {}
    new: dict[str, str] = {}
    for change in changes:
        name = change.memory or new.setdefault(change.path, change.pk)
        found.setdefault(name, []).append(change)
    return found


def _changes(store_id: str, proposed: Sequence[ProposedChange], work: Work) -> Iterator[Change]:
    groups = by_memory(proposed)
    known = {change.memory for change in proposed if change.memory}
    memories = {memory.pk: memory for memory in Memory.objects.among(store_id, known).select_related("text")}
    bases = texts_of(MemoryVersion.objects.among(store_id, {change.base for change in proposed if change.base}))
    for name, steps in groups.items():
        memory = memories.get(name)
        if steps[0].memory is None:
            yield _created(name, steps[-1])
        elif memory is None:
            yield Change(name, "", 1, NOWHERE, NOWHERE, problem=Problem.REDACTED, choices=(Choice.KEEP,))
        else:
            yield _changed(memory, steps, bases, work)


def texts_of(versions: MemoryVersionQuerySet) -> dict[str, str]:
    """Return {id: text} of versions. Redacted versions are left out; the text of a deletion is empty."""
    found = versions.select_related("text").filter(redacted_at=None)
    return {version.pk: version.content or "" for version in found}


def _created(name: str, last: ProposedChange) -> Change:
    return Change(name, "", 0, NOWHERE, state_of(last.path, last.content or ""))


def _changed(memory: Memory, steps: Sequence[ProposedChange], bases: Mapping[str, str], work: Work) -> Change:
    now, last = plans.of_memory(memory), steps[-1]
    is_newest = last.base == memory.head_id
    if last.deletes:
        is_as_seen = is_newest or (now.path == last.path and bases.get(last.base or "") == _text_of(memory))
        wanted, problem = NOWHERE, Problem.NONE if is_as_seen or not now.is_there else Problem.CONFLICT
        return _of(memory, now, wanted, problem, over=NOWHERE)
    path, moved = _place(now, steps)
    problem = Problem.NONE if now.is_there or is_newest else Problem.CONFLICT
    problem = Problem.CONFLICT if moved else problem
    asked = [(step.base or "", step.content) for step in steps if step.content is not None]
    if not asked and now.is_there:
        moved_there = State(path, now.text, now.size, now.sha256)
        return _of(memory, now, moved_there, problem, over=moved_there)
    if not asked or any(base not in bases for base, _ in asked):
        return _impossible(memory, now, Problem.REDACTED)
    wishes = [Wish(bases[base], content) for base, content in asked]
    merge = _merged(_text_of(memory) if now.is_there else "", now.size, wishes, work)
    if merge is None:
        return _impossible(memory, now, Problem.UNMERGED)
    if not now.is_there:
        text = wishes[-1].wanted
        return _of(memory, now, state_of(path, text), problem, over=state_of(path, text))
    over = state_of(path, merge.settled(lambda conflict: conflict.theirs))
    wanted = now if not merge.is_clean else state_of(path, merge.text)
    return _of(memory, now, wanted, problem if merge.is_clean else Problem.CONFLICT, over=over)


def _text_of(memory: Memory) -> str:
    return str(memory.text.content) if memory.text else ""


def _merged(now: str, size: int, wishes: Sequence[Wish], work: Work) -> Merge | None:
    """Return the merge of some wishes with the current text, or None if it would take too much work."""
    if not work.opens(sum(cost_of_matching(*wish) for wish in wishes) + size // 64):
        return None
    try:
        return onto(now, joined(wishes, work), work)
    except OutOfWork:
        return None


def _place(now: State, steps: Sequence[ProposedChange]) -> tuple[str, bool]:
    """Return the path that the memory would get, and whether the memory is now at neither path of the last proposed
    move."""
    moves = [step for step in steps if step.new_path is not None]
    if moves:
        return str(moves[-1].new_path), now.path not in (moves[-1].path, moves[-1].new_path)
    return str(now.path or steps[-1].path), False


def _impossible(memory: Memory, now: State, problem: Problem) -> Change:
    """Return a change that can only be refused, because a text no longer exists or its merge would take too much
    work."""
    return Change(memory.pk, memory.head_id, memory.version_count, now, now, problem=problem, choices=(Choice.KEEP,))


def _of(memory: Memory, now: State, wanted: State, problem: Problem, *, over: State) -> Change:
    if not problem:
        return Change(memory.pk, memory.head_id, memory.version_count, now, wanted)
    return Change(memory.pk, memory.head_id, memory.version_count, now, now, over, problem=problem, choices=_OVER)


def state_of(path: str, content: str) -> State:
    """Return the state of a memory with this path and text."""
    encoded = content.encode()
    return State(path, None, len(encoded), hashlib.sha256(encoded).hexdigest(), content)
