"""Plans of proposals: the memories as they would be if the proposed changes were merged now."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memoryhub.actions.core import plans
from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.proposals.steps import Bases, bases_of, is_gone, is_removed, replaced_of, wishes_of
from memoryhub.models import Memory, Proposal, ProposedChange
from memoryhub.pure.text.matching import Work, cost_of_matching
from memoryhub.pure.text.merging import Merge
from memoryhub.pure.text.proposed import Joined, OutOfWork, Wish, joined, onto

PLAN_WORK = 1_000_000
"""The most work for all merges of one plan, in units of matching.Work. A decision makes the plan while it holds the
lock of the store, so other writers wait for it."""

_OVER = (Choice.KEEP, Choice.BEFORE)


def proposal_plan(proposal: Proposal, work: Work | None = None) -> Plan:
    """Return the plan that merges a proposal into the current memories.

    A change that its memory already has is left out. In a conflict, a person can choose BEFORE: then the proposed
    change replaces newer changes. If a text that a change needs or proposes no longer exists, the change cannot be
    merged, only refused. The same applies if its merge would take more work than is left in `work` (None: PLAN_WORK).
    """
    with snapshot():
        changes = list(ProposedChange.objects.of_proposal(proposal))
        return plans.made(proposal.store_id, _changes(proposal.store_id, changes, work or Work(PLAN_WORK)))


def by_memory(changes: Iterable[ProposedChange]) -> dict[str, list[ProposedChange]]:
    """Return {name of a memory in the plan: its changes}.

    The name is the memory's id. For a new memory, it is the id of the first change at its path.
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
    bases = bases_of(store_id, proposed)
    for name, steps in groups.items():
        memory = memories.get(name)
        if steps[0].memory is None and not is_removed(steps):
            yield _created(name, steps)
        elif memory is None:
            yield Change(name, "", 1, NOWHERE, NOWHERE, problem=Problem.REDACTED, choices=(Choice.KEEP,))
        else:
            yield _changed(memory, steps, bases, work)


def _created(name: str, steps: Sequence[ProposedChange]) -> Change:
    last, replaced = steps[-1], replaced_of(steps, {}, None)
    return Change(name, "", 0, NOWHERE, state_of(last.path, last.content or ""), **replaced._asdict())


def _changed(memory: Memory, steps: Sequence[ProposedChange], bases: Bases, work: Work) -> Change:
    now, last = plans.of_memory(memory), steps[-1]
    is_newest = last.base == memory.head_id
    if last.deletes:
        is_same = is_newest or bases.texts.get(last.base or "") == _text_of(memory)
        is_as_seen = is_same and now.path == last.path
        problem = Problem.NONE if is_as_seen or not now.is_there else Problem.CONFLICT
        return replace(_of(memory, now, NOWHERE, problem, over=NOWHERE), **replaced_of(steps, {}, None)._asdict())
    path, moved = _place(now, steps)
    problem = Problem.CONFLICT if moved or not (now.is_there or is_newest) else Problem.NONE
    wishes, found = wishes_of(steps, bases), None
    if is_gone(steps, bases) or not (wishes or now.is_there):
        return _impossible(memory, now, Problem.REDACTED)
    if wishes:
        merged = _merged(_text_of(memory) if now.is_there else "", now.size, list(wishes.values()), work)
        if merged is None:
            return _impossible(memory, now, Problem.UNMERGED)
        found, merge = merged
        change = _edited(memory, now, path, problem, found.wish.wanted, merge)
    else:
        moved_there = State(path, now.text, now.size, now.sha256)
        change = _of(memory, now, moved_there, problem, over=moved_there)
    return replace(change, **replaced_of(steps, wishes, found)._asdict())


def _edited(memory: Memory, now: State, path: str, problem: Problem, wanted: str, merge: Merge) -> Change:
    """Return the change of a memory that gets a text: the merged text or, if the memory was deleted, the
    proposed text."""
    if not now.is_there:
        return _of(memory, now, state_of(path, wanted), problem, over=state_of(path, wanted))
    over = state_of(path, merge.settled(lambda conflict: conflict.theirs))
    then = now if not merge.is_clean else state_of(path, merge.text)
    return _of(memory, now, then, problem if merge.is_clean else Problem.CONFLICT, over=over)


def _text_of(memory: Memory) -> str:
    return str(memory.text.content) if memory.text else ""


def _merged(now: str, size: int, wishes: Sequence[Wish], work: Work) -> tuple[Joined, Merge] | None:
    """Join the wishes (see `Wish`) into one, and merge it with the current text `now`.

    Return the joined wish and the merge; None if this takes too much work.
    """
    if not work.opens(sum(cost_of_matching(*wish) for wish in wishes) + size // 64):
        return None
    try:
        found = joined(wishes, work)
        return found, onto(now, found.wish, work)
    except OutOfWork:
        return None


def _place(now: State, steps: Sequence[ProposedChange]) -> tuple[str, bool]:
    """Return the path that the memory would get, and whether someone moved it elsewhere.

    It was moved elsewhere if its current path is neither the old nor the new path of the last proposed move.
    """
    moves = [step for step in steps if step.new_path is not None]
    if moves:
        return str(moves[-1].new_path), now.path not in (moves[-1].path, moves[-1].new_path)
    return str(now.path or steps[-1].path), False


def _impossible(memory: Memory, now: State, problem: Problem) -> Change:
    """Return a change that can only be refused: a text no longer exists, or its merge would take too much work."""
    return Change(memory.pk, memory.head_id, memory.version_count, now, now, problem=problem, choices=(Choice.KEEP,))


def _of(memory: Memory, now: State, wanted: State, problem: Problem, *, over: State) -> Change:
    if not problem:
        return Change(memory.pk, memory.head_id, memory.version_count, now, wanted)
    return Change(memory.pk, memory.head_id, memory.version_count, now, now, over, problem=problem, choices=_OVER)


def state_of(path: str, content: str) -> State:
    encoded = content.encode()
    return State(path, None, len(encoded), hashlib.sha256(encoded).hexdigest(), content)
