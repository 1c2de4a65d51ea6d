"""The choices that a person makes on a preview, and the words for them.

A form posts only choices that differ from the proposed ones. The first MOST_ASKED problems have their own buttons; the
later problems share one set of buttons.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from django.http import QueryDict
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.history.apply_plan import Change, Choice, Plan, Problem

MOST_ASKED = 200
MOST_NOTE = 1000
CHOICE, LEAVE_OUT, REST = "choice-", "leave_out", "rest"


@dataclass(frozen=True, slots=True)
class Given:
    """The posted form of a preview."""

    choices: Mapping[str, Choice] = field(default_factory=dict)  # by memory id
    rest: Choice | None = None  # one choice for all problems without their own buttons
    note: str = ""  # the person's note
    digest: str = ""  # the digest of the previewed plan
    tell: str = ""  # the id of the agent that should read the note
    forbidden: str = ""  # what `forbidden_in` returned for the previewed plan

    @classmethod
    def of(cls, post: QueryDict) -> "Given":
        left_out = [memory for value in post.getlist(LEAVE_OUT) for memory in value.split()]
        choices = dict.fromkeys(left_out, Choice.KEEP)
        for name, value in post.items():
            choice = _choice(str(value))
            if name.startswith(CHOICE) and choice is not None:
                choices[name.removeprefix(CHOICE)] = choice
        note, digest, tell = post.get("note", "").strip(), post.get("digest", ""), post.get("tell", "")
        return cls(choices, _choice(post.get(REST, "")), note, digest, tell, post.get("forbidden", ""))

    def choice(self, change: Change) -> Choice:
        """Return the choice for a change: the person's, if it is possible, or else the proposed one."""
        chosen = self.choices.get(change.memory) or (self.rest if change.problem else None)
        return chosen if chosen in change.choices else change.choices[0]

    def for_plan(self, plan: Plan) -> dict[str, Choice]:
        """Return {memory: choice} for the memories with a problem, a forbidden choice, or another choice than the
        proposed one."""
        chosen = ((change, self.choice(change)) for change in plan.changes)
        return {c.memory: choice for c, choice in chosen if c.problem or c.refused or choice != c.choices[0]}

    def count(self, plan: Plan) -> int:
        """Return the number of memories that will change with the current choices."""
        return sum(self.choice(change) != Choice.KEEP for change in plan.changes)


def forbidden_in(plan: Plan) -> str:
    """Return a digest of the choices of a plan that a legal hold or a rule forbids; "" if there are none."""
    refused = [f"{change.memory} {','.join(change.refused)}" for change in plan.changes if change.refused]
    return sha256("\n".join(refused).encode()).hexdigest() if refused else ""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the buttons for a problem."""

    value: str
    label: str
    help: str
    chosen: bool
    effects: str = ""  # the effects of this choice
    is_refused: bool = False  # a legal hold or a rule for sensitive text forbids this choice


Words = Callable[[Change, Choice], tuple[str, str]]
"""A function that returns the label of a button and the sentence below it."""


def options(change: Change, given: Given, words_of: Words) -> list[Option]:
    """Return the buttons for a change with a problem or a forbidden choice, the proposed one first."""
    chosen = given.choice(change)
    is_plain = not change.problem and change.then.is_there
    words = [(choice, *words_of(change, choice)) for choice in change.choices]
    words += [
        (choice, *(_words_of_refused(change) if is_plain else words_of(change, choice))) for choice in change.refused
    ]
    return [
        Option(choice.value, label, help, choice == chosen, effects_of([change], choice), choice in change.refused)
        for choice, label, help in words
    ]


def rest_options(changes: Sequence[Change], given: Given) -> list[Option]:
    """Return the shared buttons for all problems without buttons of their own."""
    offered = {choice for change in changes for choice in change.choices}
    chosen = given.rest or Choice.KEEP
    words = {
        Choice.KEEP: (_("Keep them all as they are now"), ""),
        Choice.APPLY: (_("Remove it from all of them, and keep what was written later"), ""),
        Choice.BEFORE: (_("Make them all as they were before"), _dropped_of(changes)),
    }
    return [
        Option(choice.value, *words[choice], choice == chosen, effects_of(changes, choice))
        for choice in words
        if choice in offered
    ]


def effects_of(changes: Iterable[Change], choice: Choice | None = None) -> str:
    """Return how many memories a choice would change in which way, as a text such as `deleted:2 modified:1`.

    If `choice` is None, the proposed choice of each change is used.
    """
    counted = Counter(
        effect for change in changes for effect in change.effects(_offered(change, choice or change.choices[0]))
    )
    return " ".join(f"{effect}:{count}" for effect, count in sorted(counted.items()))


def _offered(change: Change, choice: Choice) -> Choice:
    return choice if choice in change.choices else change.choices[0]


def _dropped_of(changes: Sequence[Change]) -> str:
    """Return a sentence on the lines and memories that would be lost if all memories went back to their earlier
    state."""
    dropped = [change for change in changes if Choice.BEFORE in change.choices]
    gone = sum(not change.chosen(Choice.BEFORE).is_there for change in dropped)
    counted = [change.later_lines for change in dropped if change.later_lines is not None]
    lines = ngettext(
        "%(count)s line that was written later is dropped.",
        "%(count)s lines that were written later are dropped.",
        count := sum(counted),
    ) % {"count": count}
    if len(counted) < len(dropped):
        lines = _("All lines that were written later are dropped.")
    if not gone:
        return lines
    trash = ngettext("%(count)s memory goes to the trash.", "%(count)s memories go to the trash.", gone)
    return f"{lines} {trash % {'count': gone}}"


def _choice(value: str) -> Choice | None:
    return Choice(value) if value in list(Choice) else None


def undo_words(change: Change, choice: Choice) -> tuple[str, str]:
    """Return the label of a button, and the sentence below it, for an undo or a restore."""
    if choice == Choice.KEEP:
        return _("Keep it as it is now"), _("Nothing changes in this memory.")
    if choice == Choice.BEFORE:
        return _words_of_before(change)
    if change.problem == Problem.TAKEN:
        return _("Put it next to the other memory"), _("It will be at %(path)s.") % {"path": change.then.path}
    if not change.then.is_there:
        return _("Move it to the trash"), _(
            "It has no lines that were written later. It can be restored from the trash."
        )
    if change.before is not None and not change.before.is_there:
        stay = _("Only the later lines stay.")
        if (count := change.later_lines) is not None:
            stay = ngettext("Only the later line stays.", "Only the %(count)s later lines stay.", count)
            stay %= {"count": count}
        return _("Remove it, and keep what was written later"), stay
    return (
        _("Remove it, and keep what was written later"),
        _("Where a later change changed the same lines, the later lines stay."),
    )


def _words_of_refused(change: Change) -> tuple[str, str]:
    """Return the label for the greyed button of a change that is forbidden, and an empty sentence."""
    words = {"created": _("Bring it back"), "modified": _("Change it")}
    return words.get(change.kind) or _("Move it to %(path)s") % {"path": change.then.path}, ""


def _words_of_before(change: Change) -> tuple[str, str]:
    lines = {"count": change.later_lines}
    if not change.chosen(Choice.BEFORE).is_there:
        if change.later_lines is None:
            return _("Move it to the trash, with all later lines"), _("It can be restored from the trash.")
        label = ngettext(
            "Move it to the trash, with %(count)s later line",
            "Move it to the trash, with %(count)s later lines",
            change.later_lines,
        )
        return label % lines, _("It can be restored from the trash.")
    label = _("Make it as it was before")
    if not change.later_lines:
        return label, _("What was written later is dropped too. It stays in the history.")
    help = ngettext(
        "%(count)s line that was written later is dropped too. It stays in the history.",
        "%(count)s lines that were written later are dropped too. They stay in the history.",
        change.later_lines,
    )
    return label, help % lines
