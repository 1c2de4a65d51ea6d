"""The parts of a proposal that a person accepts: some hunks of a text, a text of their own, or nothing of a memory's
changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from memoryhub.actions.core.plans import Change, Choice, Plan, PlanChanged, State
from memoryhub.actions.proposals.plan import state_of
from memoryhub.models import MemoryText
from memoryhub.pure.text.hunks import hunks, with_some


@dataclass(frozen=True, slots=True)
class Parts:
    """A person's changes to proposed texts. `left_out` is {memory: the numbers of the hunks that are not to be merged}.

    The first hunk that `hunks` returns has the number 1. `texts` is {memory: the text that the person wrote instead};
    for these memories, `left_out` is ignored.
    """

    left_out: Mapping[str, Collection[int]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


WHOLE = Parts()


@dataclass(frozen=True, slots=True)
class Selected:
    """A plan with only the parts that a person accepts, and the person's choices for it.

    `cut` are the memories whose new text lacks a part of the proposed text. `edited` are the memories with a text that
    the person wrote.
    """

    plan: Plan
    choices: Mapping[str, Choice]
    cut: Collection[str]
    edited: Collection[str]

    @property
    def count(self) -> int:
        """Return how many memories will change."""
        chosen = ((change, self.choices.get(change.memory, change.choices[0])) for change in self.plan.changes)
        return sum(choice != Choice.KEEP for _, choice in chosen)


def selected(plan: Plan, choices: Mapping[str, Choice], parts: Parts) -> Selected:
    """Return the plan with only the selected parts of its texts. A memory without a selected change gets KEEP.

    Raises PlanChanged if the plan does not have the hunks or texts that `parts` names.
    """
    texts = _texts(plan, parts.left_out)
    kept, taken = dict(choices), dict[str, Change]()
    cut, edited = set[str](), set[str]()
    for change in plan.changes:
        memory, choice = change.memory, choices.get(change.memory, change.choices[0])
        proposed = change.chosen(choice)
        own = parts.texts.get(memory)
        if choice == Choice.KEEP or (own is None and not parts.left_out.get(memory)):
            continue
        old = texts.get(change.now.text or "")
        if own is not None and proposed.content is not None:
            text = own
        elif own is None and old is not None and proposed.content is not None:
            text = _without(plan, old, proposed.content, parts.left_out[memory])
        else:
            raise PlanChanged(plan)
        state = state_of(str(proposed.path), text)
        if state.same(proposed):
            continue
        if state.same(change.now):
            kept[memory] = Choice.KEEP
            continue
        taken[memory] = _with(change, choice, state)
        if own is not None:
            edited.add(memory)
        if own is None or any(first < end for first, end, *_ in hunks(proposed.content, text)):
            cut.add(memory)
    changes = tuple(taken.get(change.memory, change) for change in plan.changes)
    return Selected(replace(plan, changes=changes), kept, cut, edited)


def with_texts(plan: Plan, texts: Mapping[str, str]) -> Plan:
    """Return the plan with `texts` as the new texts of the memories that `texts` names.

    It is for a page that compares these texts with the current ones.
    """
    return replace(plan, changes=tuple(_with_text(change, texts.get(change.memory)) for change in plan.changes))


def _with_text(change: Change, text: str | None) -> Change:
    proposed = offered(change)
    if text is None or proposed.content is None:
        return change
    state = state_of(str(proposed.path), text)
    return replace(change, before=state) if proposed is change.before else replace(change, then=state)


def _without(plan: Plan, old: str, new: str, left_out: Collection[int]) -> str:
    """Return the new text without the hunks with these numbers. Raises PlanChanged if there is no such hunk."""
    count = len(hunks(old, new))
    if not all(0 < number <= count for number in left_out):
        raise PlanChanged(plan)
    return with_some(old, new, left_out)


def to_edit(plan: Plan, memory: str, parts: Parts) -> str | None:
    """Return the text that a person starts to edit: the proposed text without the hunks that are left out.

    None if the plan proposes no text for the memory. Raises PlanChanged if the text lacks a hunk that `parts` names.
    """
    change = next((change for change in plan.changes if change.memory == memory), None)
    proposed = None if change is None else offered(change).content
    numbers = parts.left_out.get(memory, ())
    if change is None or proposed is None or not numbers:
        return proposed
    old = _texts(plan, [memory]).get(change.now.text or "")
    return None if old is None else _without(plan, old, proposed, numbers)


def may_select(change: Change) -> bool:
    """Return whether the change edits an existing text, so that its hunks can be selected."""
    return change.now.is_there and offered(change).content is not None


def offered(change: Change) -> State:
    """Return the proposed state of a memory.

    In a conflict, it is `change.before`, and `change.then` is the current state. Otherwise, it is `change.then`.
    """
    return change.before if change.before is not None and change.then.same(change.now) else change.then


def _with(change: Change, choice: Choice, state: State) -> Change:
    """Return the change with `state` as the state after this choice."""
    is_before = choice == Choice.BEFORE and change.before is not None
    return replace(change, before=state) if is_before else replace(change, then=state)


def _texts(plan: Plan, memories: Collection[str]) -> dict[str, str]:
    ids = {change.now.text for change in plan.changes if change.memory in memories and change.now.text}
    return MemoryText.objects.contents(plan.store, ids) if ids else {}
