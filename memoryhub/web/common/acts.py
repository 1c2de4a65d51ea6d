"""Short words for commands, as lists of calls and versions show them."""

from django.utils.translation import gettext

from memoryhub.actions.core.audit.commands import COMMANDS


def act_words(command: str | None) -> str:
    """Return short words for a command. If there are no words for it, return the command itself with spaces for
    underscores."""
    if not command:
        return gettext("no command")
    known = COMMANDS.get(command)
    return str((known and known.label) or command.replace("_", " "))


def tried_words(command: str | None) -> str:
    """Return short words for a refused command, such as “tried to create”. Pages show the path after them."""
    known = COMMANDS.get(command or "")
    refused = str(known.refused).partition(" %(")[0] if known else ""
    return refused or gettext("tried: %(act)s") % {"act": act_words(command)}


HOLDS = ("hold", "release")
"""The commands for legal holds and for pins."""


def hold_words(command: str, *, is_hold: bool) -> str:
    """Return short words for `command`, which places or releases a legal hold (`is_hold`) or a pin."""
    if command == "release":
        return gettext("released the legal hold on") if is_hold else gettext("removed the pin from")
    return gettext("put a legal hold on") if is_hold else gettext("pinned")
