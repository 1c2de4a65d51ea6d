"""Shows a decided proposal: the texts that the agent saw, and the texts that it proposed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State
from memoryhub.actions.core.proposed_texts import REMOVED
from memoryhub.actions.proposals.plan import PLAN_WORK, by_memory, state_of, texts_of
from memoryhub.models import MemoryVersion, Proposal, ProposedChange
from memoryhub.text.hunks import had
from memoryhub.text.matching import Work, cost_of_matching
from memoryhub.text.proposed import OutOfWork, Wish, joined, onto


@dataclass(frozen=True, slots=True)
class Proposed:
    """A plan that is only for reading. `had` says for memories that were merged in part whether the merge took each
    hunk.

    The change of such a memory begins with the text before the merge, and ends with the text that all hunks would have
    made.
    """

    plan: Plan
    had: Mapping[str, Sequence[bool]]


def as_proposed(proposal: Proposal, cut: Collection[str] = ()) -> Proposed:
    """Return what was proposed. `cut` are the memories that were merged in part.

    If the text that the agent saw or the proposed one no longer exists, the change has the problem REDACTED and begins
    with an empty text.
    """
    changes = list(ProposedChange.objects.of_proposal(proposal))
    ids = {change.base for change in changes if change.base}
    bases = texts_of(MemoryVersion.objects.among(proposal.store_id, ids))
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
    bases: Mapping[str, str],
    work: Work,
) -> Iterator[tuple[Change, Sequence[bool]]]:
    """Yield (change, whether the merge took each hunk) of memories that were merged in part, if all their texts still
    exist."""
    versions, seq = MemoryVersion.objects.filter(store_id=proposal.store_id, memory_id__in=cut), proposal.seq or 0
    made, before = versions.filter(seq=seq), versions.filter(superseded_seq=seq)
    texts = texts_of(made) | texts_of(before)
    after = {version.memory_id: version for version in made}
    for old in before:
        new, steps = after.get(old.memory_id), groups.get(old.memory_id, ())
        asked = [(step.base or "", step.content) for step in steps if step.content is not None]
        wishes = [Wish(bases[base], content) for base, content in asked if base in bases]
        if new is None or len(wishes) < len(asked) or old.pk not in texts or new.pk not in texts:
            continue
        if not wishes or not work.opens(sum(cost_of_matching(*wish) for wish in wishes)):
            continue
        try:
            merged = onto(texts[old.pk], joined(wishes, work), work).settled(lambda conflict: conflict.theirs)
        except OutOfWork:
            continue
        taken = had(texts[old.pk], merged, texts[new.pk])
        if taken is not None:
            then = state_of(str(new.path), merged)
            yield Change(old.memory_id, old.pk, 1, state_of(str(old.path), texts[old.pk]), then), taken


def _change(name: str, steps: Sequence[ProposedChange], bases: Mapping[str, str], work: Work) -> Change:
    last = steps[-1]
    if last.memory is None:
        return Change(name, "", 0, NOWHERE, state_of(last.path, last.content or ""))
    if any(step.content == REMOVED for step in steps):
        bases = {}
    seen = bases.get(last.base or "")
    now, then = state_of(last.path, seen or ""), NOWHERE
    if not last.deletes:
        now, then = _states(steps, now, bases, work)
    problem = Problem.REDACTED if seen is None else Problem.NONE
    return Change(name, last.base or "", 1, now, then, problem=problem, choices=(Choice.KEEP,))


def _states(steps: Sequence[ProposedChange], now: State, bases: Mapping[str, str], work: Work) -> tuple[State, State]:
    """Return the state before the changes of one memory, and the state after them."""
    moves = [step for step in steps if step.new_path is not None]
    before, after = (moves[-1].path, str(moves[-1].new_path)) if moves else (str(now.path), str(now.path))
    asked = [(step.base or "", step.content) for step in steps if step.content is not None]
    if not asked:
        return state_of(before, now.content or ""), state_of(after, now.content or "")
    wishes = [Wish(bases[base], content) for base, content in asked if base in bases]
    if not wishes:
        return state_of(before, ""), state_of(after, asked[-1][1])
    opens = len(wishes) == 1 or work.opens(sum(cost_of_matching(*wish) for wish in wishes))
    try:
        wish = joined(wishes, work) if opens else wishes[-1]
    except OutOfWork:
        wish = wishes[-1]
    return state_of(before, wish.seen), state_of(after, wish.wanted)
