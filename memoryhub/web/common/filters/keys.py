"""The keys of filters: their labels, examples, and fixed lists of values."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from memoryhub.actions.core.audit.command import Scope
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.verification.entries import READS, WRITES
from memoryhub.models import Door
from memoryhub.pure.sensitive import KINDS
from memoryhub.pure.text.filter_words import (
    FINDING,
    FLAGGED,
    HELD,
    MINE,
    NOT,
    PINNED,
    READING,
    SEVERAL_AGENTS,
    UNASSIGNED,
    UNREVIEWED,
    WRITING,
)
from memoryhub.pure.text.periods import NAMED, ago
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.errors.kinds import WORDS
from memoryhub.web.common.texts.kinds import GROUP_WORDS, label

Choices = Sequence[tuple[str, str]]
"""Values and their labels."""

_PERIODS: Mapping[str, str | Promise] = {
    "today": gettext_lazy("today"), "yesterday": gettext_lazy("yesterday"),
    "since-yesterday": gettext_lazy("since yesterday"), "this-week": gettext_lazy("this week"),
    "last-week": gettext_lazy("last week"), "since-last-week": gettext_lazy("since last week"),
    "this-month": gettext_lazy("this month"), "last-month": gettext_lazy("last month"),
    "since-last-month": gettext_lazy("since last month"),
}  # fmt: skip
_MARKS: Mapping[str, str | Promise] = {
    UNREVIEWED: gettext_lazy("awaiting review"), FLAGGED: gettext_lazy("flagged"), PINNED: gettext_lazy("pinned"),
    HELD: gettext_lazy("under a legal hold"), FINDING: gettext_lazy("with open findings"),
    SEVERAL_AGENTS: gettext_lazy("written by several agents"),
    MINE: gettext_lazy("assigned to you"), UNASSIGNED: gettext_lazy("assigned to no one"),
}  # fmt: skip
_OUTCOMES: Mapping[str, str | Promise] = {
    "ok": gettext_lazy("ok"), "error": gettext_lazy("error"), "refused": gettext_lazy("refused by a rule or a limit"),
    "proposed": gettext_lazy("became a proposal"),
}  # fmt: skip
ACTIVE = "active"
"""The value of the filter `store` for all active memory stores."""

VERSION, PROPOSAL = "version", "proposal"
_WAITING: Mapping[str, str | Promise] = {
    VERSION: gettext_lazy("versions that await review"), PROPOSAL: gettext_lazy("proposals"),
}  # fmt: skip
_PLACES: Mapping[str, str | Promise] = {
    "contents": gettext_lazy("contents only"), "paths": gettext_lazy("paths only"),
    "notes": gettext_lazy("notes only"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a filter: its label, an example of a value, and the fixed list of its values, if there is one. `group`
    returns the group of a value in a long list."""

    label: str | Promise
    example: str = ""
    choices: Callable[[], Choices] | None = None
    can_exclude: bool = True
    group: Callable[[str], str] | None = None


def _words(words: Mapping[str, str | Promise]) -> Callable[[], Choices]:
    return lambda: [(value, str(label)) for value, label in words.items()]


def _periods() -> Choices:
    return [*((name, str(_PERIODS[name])) for name in NAMED), *((value, shown("when", value)) for value in _LENGTHS)]


def _commands() -> Choices:
    """Return the commands in words, in three groups: those that write memories, those that only read, and all
    others."""
    named = sorted(((name, act_words(name)) for name in COMMANDS), key=lambda choice: choice[1])
    often = Counter(words for _name, words in named)
    told = [(name, words if often[words] == 1 else f"{words} ({name})") for name, words in named]
    several = [(WRITING, _("all that write memories")), (READING, _("all that read memories"))]
    return sorted([*several, *told], key=lambda choice: _group_of(choice[0]))


def _group_of(command: str) -> int:
    """Return the index of a command's group in _GROUPS."""
    if command in WRITES or command == WRITING:
        return 0
    return 1 if command in READS or command == READING else 2


_GROUPS = (gettext_lazy("Changes of memories"), gettext_lazy("Reads"), gettext_lazy("Everything else"))
_LENGTHS = ("24h", "7d", "30d")

KEYS: Mapping[str, Key] = {
    "store": Key(gettext_lazy("Store")),
    "agent": Key(gettext_lazy("Agent"), "support-bot"),
    "key": Key(gettext_lazy("Key"), "apikey_…"),
    "person": Key(gettext_lazy("Person"), "name@example.com"),
    "session": Key(gettext_lazy("Session"), "run-7"),
    "call": Key(gettext_lazy("Call"), "toolu_…"),
    "memory": Key(gettext_lazy("Memory"), "mem_…"),
    "path": Key(gettext_lazy("Path"), "/notes"),
    "kind": Key(gettext_lazy("Kind"), choices=lambda: [(name, str(label(name))) for name in KINDS]),
    "group": Key(
        gettext_lazy("Group"), choices=lambda: [(group.value, str(words)) for group, words in GROUP_WORDS.items()]
    ),
    "command": Key(
        gettext_lazy("Command"),
        choices=_commands,
        group=lambda command: str(_GROUPS[_group_of(command)]),
    ),
    "outcome": Key(gettext_lazy("Outcome"), choices=_words(_OUTCOMES)),
    "error": Key(gettext_lazy("Error"), choices=_words({kind.value: words for kind, words in WORDS.items()})),
    "door": Key(gettext_lazy("Came in through"), choices=lambda: [(value, value) for value in Door.values]),
    "what": Key(gettext_lazy("What waits"), choices=_words(_WAITING), can_exclude=False),
    "is": Key(gettext_lazy("State"), choices=_words(_MARKS)),
    "assigned": Key(gettext_lazy("Assigned to"), "name@example.com", can_exclude=False),
    "when": Key(gettext_lazy("When"), choices=_periods),
    "from": Key(gettext_lazy("From"), "2026-01-31T14:30", can_exclude=False),
    "to": Key(gettext_lazy("To"), "2026-01-31T14:30", can_exclude=False),
    "in": Key(gettext_lazy("Look in"), choices=_words(_PLACES), can_exclude=False),
    "versions": Key(gettext_lazy("Old versions"), choices=lambda: [("all", _("too"))], can_exclude=False),
    "trash": Key(gettext_lazy("The trash"), choices=lambda: [("yes", _("too"))], can_exclude=False),
}


def base(key: str) -> str:
    """Return a key without its prefix NOT (“-”). A key that does not have this prefix is returned unchanged."""
    return key.removeprefix(NOT)


def choices_of(key: str, *, with_hub: bool) -> Choices | None:
    """Return the fixed list of values of a key, or None if the key has no such list. Without `with_hub`, commands that
    occur only in the hub's chain are left out."""
    choices = KEYS[key].choices
    if choices is None:
        return None
    return [choice for choice in choices() if with_hub or key != "command" or not _is_of_hub(choice[0])]


def _is_of_hub(command: str) -> bool:
    return command in COMMANDS and Scope.STORE not in COMMANDS[command].scope


def shown(key: str, value: str) -> str:
    """Return a value in words if its key has words for it, else the value unchanged."""
    if key == "when" and ago(value):
        count, unit = int(value[:-1]), value[-1]
        words = {
            "m": lambda: ngettext("last %(count)s minute", "last %(count)s minutes", count),
            "h": lambda: ngettext("last %(count)s hour", "last %(count)s hours", count),
            "d": lambda: ngettext("last %(count)s day", "last %(count)s days", count),
            "w": lambda: ngettext("last %(count)s week", "last %(count)s weeks", count),
        }
        return words[unit]() % {"count": count}
    choices = KEYS[key].choices if key in KEYS else None
    return dict(choices()).get(value, value) if choices else value
