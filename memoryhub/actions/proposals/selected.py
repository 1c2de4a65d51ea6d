"""What a person takes of a proposal: some hunks of a text, or nothing of a memory's changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from memoryhub.actions.core.plans import Change, Choice, Plan, PlanChanged, State
from memoryhub.actions.proposals.plan import state_of
from memoryhub.models import MemoryText
from memoryhub.text.hunks import hunks, with_some


@dataclass(frozen=True, slots=True)
class Selected:
    """A plan that has only what a person takes, and the person's choices for it.

    `cut` are the memories from which some hunks are taken and others left out.
    """

    plan: Plan
    choices: Mapping[str, Choice]
    cut: Collection[str] = ()

    @property
    def count(self) -> int:
        """Return how many memories will change."""
        chosen = ((change, self.choices.get(change.memory, change.choices[0])) for change in self.plan.changes)
        return sum(choice != Choice.KEEP for _, choice in chosen)


def selected(plan: Plan, choices: Mapping[str, Choice], left_out: Mapping[str, Collection[int]]) -> Selected:
    """Return the plan without the hunks that are left out. `left_out` is {memory: numbers of its hunks, as `hunks`
    counts them}.

    A memory gets the choice KEEP if none of its changes are taken. Raises PlanChanged if the plan has no such hunks.
    """
    texts = _texts(plan, left_out)
    kept, cut = dict(choices), dict[str, Change]()
    for change in plan.changes:
        choice = choices.get(change.memory, change.choices[0])
        numbers = left_out.get(change.memory, ())
        if not numbers or choice == Choice.KEEP:
            continue
        old, new = texts.get(change.now.text or ""), change.chosen(choice).content
        count = 0 if old is None or new is None else len(hunks(old, new))
        if old is None or new is None or not all(0 < number <= count for number in numbers):
            raise PlanChanged(plan)
        state = state_of(str(change.chosen(choice).path), with_some(old, new, numbers))
        if state.same(change.now):
            kept[change.memory] = Choice.KEEP
        else:
            cut[change.memory] = _with(change, choice, state)
    changes = tuple(cut.get(change.memory, change) for change in plan.changes)
    return Selected(replace(plan, changes=changes), kept, frozenset(cut))


def may_select(change: Change) -> bool:
    """Return whether the change is an edit of an existing text, so that it has hunks."""
    return change.now.is_there and offered(change).content is not None


def offered(change: Change) -> State:
    """Return the proposed state of a memory. In a conflict, it is the state after the choice BEFORE."""
    return change.before if change.before is not None and change.then.same(change.now) else change.then


def _with(change: Change, choice: Choice, state: State) -> Change:
    """Return the change with another state after a choice."""
    is_before = choice == Choice.BEFORE and change.before is not None
    return replace(change, before=state) if is_before else replace(change, then=state)


def _texts(plan: Plan, memories: Collection[str]) -> dict[str, str]:
    ids = {change.now.text for change in plan.changes if change.memory in memories and change.now.text}
    return MemoryText.objects.contents(plan.store, ids) if ids else {}
