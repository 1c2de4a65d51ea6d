"""Shows a decided proposal: the texts that the agent saw, and the texts that it proposed."""

from collections.abc import Mapping, Sequence

from memoryhub.actions.core.plans import NOWHERE, Change, Choice, Plan, Problem, State
from memoryhub.actions.proposals.plan import PLAN_WORK, by_memory, state_of, texts_of
from memoryhub.models import MemoryVersion, Proposal, ProposedChange
from memoryhub.text.matching import Work, cost_of_matching
from memoryhub.text.proposed import Wish, joined


def as_proposed(proposal: Proposal) -> Plan:
    """Return the proposed changes as a plan that is only for reading.

    If the text that the agent saw no longer exists, the change has the problem REDACTED and begins with an empty text.
    """
    changes = list(ProposedChange.objects.of_proposal(proposal))
    ids = {change.base for change in changes if change.base}
    bases = texts_of(MemoryVersion.objects.among(proposal.store_id, ids))
    work = Work(PLAN_WORK)
    groups = by_memory(changes).items()
    return Plan(proposal.store_id, tuple(_change(name, steps, bases, work) for name, steps in groups))


def _change(name: str, steps: Sequence[ProposedChange], bases: Mapping[str, str], work: Work) -> Change:
    last = steps[-1]
    if last.memory is None:
        return Change(name, "", 0, NOWHERE, state_of(last.path, last.content or ""))
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
    wish = joined(wishes, work) if opens else wishes[-1]
    return state_of(before, wish.seen), state_of(after, wish.wanted)
