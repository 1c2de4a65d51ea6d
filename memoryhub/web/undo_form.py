"""What a person chose on a preview, and the choices in words.

A form posts only what differs from what is proposed: changes without a problem have one box, "leave it as it is", and
problems have buttons, of which the first MOST_ASKED have their own and the others one set for all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext as _

from memoryhub.actions.changes import Change, Choice, Plan, Problem

MOST_ASKED = 200
MOST_NOTE = 1000
CHOICE, LEAVE_OUT, REST = "choice-", "leave_out", "rest"


@dataclass(frozen=True, slots=True)
class Given:
    """What was posted: a choice by memory, one for the problems that have no buttons of their own, note and digest."""

    choices: Mapping[str, Choice] = field(default_factory=dict)
    rest: Choice | None = None
    note: str = ""
    digest: str = ""

    @classmethod
    def of(cls, post: QueryDict) -> "Given":
        left_out = [memory for value in post.getlist(LEAVE_OUT) for memory in value.split()]
        choices = dict.fromkeys(left_out, Choice.KEEP)
        for name, value in post.items():
            choice = _choice(str(value))
            if name.startswith(CHOICE) and choice is not None:
                choices[name.removeprefix(CHOICE)] = choice
        return cls(choices, _choice(post.get(REST, "")), post.get("note", "").strip(), post.get("digest", ""))

    def choice(self, change: Change) -> Choice:
        """What was chosen of a change; what cannot be chosen, or was not, is what is proposed."""
        chosen = self.choices.get(change.memory) or (self.rest if change.problem else None)
        return chosen if chosen in change.choices else change.choices[0]

    def for_plan(self, plan: Plan) -> dict[str, Choice]:
        """The choice of each memory of the plan that needs one or differs from what is proposed."""
        chosen = ((change, self.choice(change)) for change in plan.changes)
        return {c.memory: choice for c, choice in chosen if c.problem or choice != c.choices[0]}

    def count(self, plan: Plan) -> int:
        """How many memories will change."""
        return sum(self.choice(change) != Choice.KEEP for change in plan.changes)


@dataclass(frozen=True, slots=True)
class Option:
    """One of the buttons of a problem."""

    value: str
    label: str
    help: str
    chosen: bool


def options(change: Change, given: Given) -> list[Option]:
    """The buttons of a change with a problem, in the order in which they are proposed."""
    chosen = given.choice(change)
    words = [(choice, *_words(change, choice)) for choice in change.choices]
    return [Option(choice.value, label, help, choice == chosen) for choice, label, help in words]


def rest_options(changes: Iterable[Change], given: Given) -> list[Option]:
    """The buttons for all problems that have none of their own."""
    offered = {choice for change in changes for choice in change.choices}
    chosen = given.rest or Choice.KEEP
    words = {
        Choice.KEEP: _("Keep them all as they are now"),
        Choice.APPLY: _("Take it out of them all, and keep what was written later"),
        Choice.BEFORE: _("Make them all as they were before, and drop what was written later"),
    }
    return [Option(choice.value, words[choice], "", choice == chosen) for choice in words if choice in offered]


def _choice(value: str) -> Choice | None:
    return Choice(value) if value in list(Choice) else None


def _words(change: Change, choice: Choice) -> tuple[str, str]:
    """What a button says, and the sentence beneath it."""
    if choice == Choice.KEEP:
        return _("Keep it as it is now"), _("Nothing changes in this memory.")
    if choice == Choice.BEFORE:
        return _("Make it as it was before"), _("What was written later is dropped too. It stays in the history.")
    if change.problem == Problem.TAKEN:
        return _("Put it beside the other one"), _("It will be at %(path)s.") % {"path": change.then.path}
    return (
        _("Take it out, and keep what was written later"),
        _("Where both changed the same lines, the later lines stay."),
    )
