"""Shows a decided proposal: the texts that the agent saw, and the texts that it proposed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Q

from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State
from memoryhub.actions.proposals.plan import PLAN_WORK, by_memory, state_of
from memoryhub.actions.proposals.steps import (
    Bases,
    Replaced,
    bases_of,
    is_gone,
    is_removed,
    replaced_of,
    wishes_of,
    with_text,
)
from memoryhub.models import MemoryVersion, Proposal, ProposedChange
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure.text.hunks import had
from memoryhub.pure.text.matching import Work, cost_of_matching
from memoryhub.pure.text.proposed import OutOfWork, joined, onto


@dataclass(frozen=True, slots=True)
class Proposed:
    """A plan that is only displayed. `had` is {memory merged in part: for each hunk, whether it was merged}."""

    plan: Plan
    had: Mapping[str, Sequence[bool]]


def as_proposed(proposal: Proposal, cut: Collection[str] = ()) -> Proposed:
    """Return the proposed changes. `cut` are the memories that were merged in part.

    If the text that the agent saw, or the proposed text, no longer exists, the change has the problem REDACTED.
    """
    changes = list(ProposedChange.objects.of_proposal(proposal))
    bases = bases_of(proposal.store_id, changes)
    work = Work(PLAN_WORK)
    groups = by_memory(changes)
    whole = {name: _change(name, steps, bases, work) for name, steps in groups.items()}
    parts = {change.memory: (change, taken) for change, taken in _in_part(proposal, cut, groups, bases, work)}
    plan = Plan(proposal.store_id, tuple(parts[name][0] if name in parts else whole[name] for name in whole))
    return Proposed(plan, {name: taken for name, (_change, taken) in parts.items()})


def _in_part(
    proposal: Proposal,
    cut: Collection[str],
    groups: Mapping[str, Sequence[ProposedChange]],
    bases: Bases,
    work: Work,
) -> Iterator[tuple[Change, Sequence[bool]]]:
    """Yield (change, whether each of its hunks was merged) for memories that were merged in part, if all their texts
    still exist."""
    made, before = _around(proposal, cut, groups)
    texts = {version.pk: version.content or "" for version in [*with_text(made), *with_text(before)]}
    after = {version.memory_id: version for version in made}
    for old in before:
        new, steps = after.get(old.memory_id), groups.get(old.memory_id, ())
        wishes = wishes_of(steps, bases)
        if new is None or is_gone(steps, bases) or old.pk not in texts or new.pk not in texts:
            continue
        if not wishes or not work.opens(sum(cost_of_matching(*wish) for wish in wishes.values())):
            continue
        try:
            found = joined(wishes.values(), work)
            merged = onto(texts[old.pk], found.wish, work).settled(lambda conflict: conflict.theirs)
        except OutOfWork:
            continue
        taken = had(texts[old.pk], merged, texts[new.pk])
        if taken is not None:
            then = state_of(str(new.path), merged)
            change = Change(old.memory_id, old.pk, 1, state_of(str(old.path), texts[old.pk]), then)
            yield replace(change, **replaced_of(steps, wishes, found)._asdict()), taken


def _around(
    proposal: Proposal, cut: Collection[str], groups: Mapping[str, Sequence[ProposedChange]]
) -> tuple[MemoryVersionQuerySet, MemoryVersionQuerySet]:
    """Return two queries for the memories in `cut`: the versions that the merge made, and the versions right before
    those."""
    versions, seq = MemoryVersion.objects.filter(store_id=proposal.store_id, memory_id__in=cut), proposal.seq or 0
    if not proposal.was_decided_elsewhere:
        return versions.filter(seq=seq), versions.filter(superseded_seq=seq)
    made = versions.filter(pk__in={step.became for name in cut for step in groups.get(name, ()) if step.became})
    before = Q(pk=None)
    for memory, number in made.values_list("memory_id", "number"):
        before |= Q(memory_id=memory, number=number - 1)
    return made, versions.filter(before)


def _change(name: str, steps: Sequence[ProposedChange], bases: Bases, work: Work) -> Change:
    last = steps[-1]
    if last.memory is None:
        replaced = replaced_of(steps, {}, None)
        return Change(name, "", 0, NOWHERE, state_of(last.path, last.content or ""), **replaced._asdict())
    if is_removed(steps):
        bases = Bases({})
    seen = bases.texts.get(last.base or "")
    now, then, replaced = state_of(last.path, seen or ""), NOWHERE, replaced_of(steps, {}, None)
    if not last.deletes:
        now, then, replaced = _states(steps, now, bases, work)
    problem = Problem.REDACTED if seen is None else Problem.NONE
    choices = (Choice.KEEP,)
    return Change(name, last.base or "", 1, now, then, problem=problem, choices=choices, **replaced._asdict())


def _states(steps: Sequence[ProposedChange], now: State, bases: Bases, work: Work) -> tuple[State, State, Replaced]:
    """Return the state before the changes of one memory, the state after them, and the changes that later ones
    replaced."""
    moves = [step for step in steps if step.new_path is not None]
    before, after = (moves[-1].path, str(moves[-1].new_path)) if moves else (str(now.path), str(now.path))
    contents = [step.content for step in steps if step.content is not None]
    wishes = wishes_of(steps, bases)
    if not wishes:
        seen, wanted = ("", contents[-1]) if contents else (now.content or "", now.content or "")
        return state_of(before, seen), state_of(after, wanted), Replaced()
    every = list(wishes.values())
    opens = len(every) == 1 or work.opens(sum(cost_of_matching(*wish) for wish in every))
    try:
        found = joined(every, work) if opens else None
    except OutOfWork:
        found = None
    wish = found.wish if found else every[-1]
    return state_of(before, wish.seen), state_of(after, wish.wanted), replaced_of(steps, wishes, found)
