"""Short words for commands, as lists of calls and versions show them."""

from django.utils.translation import gettext

from memoryhub.actions.core.commands import COMMANDS


def act_words(command: str | None) -> str:
    """Return short words for a command, or the command itself with spaces for underscores if it has no words."""
    if not command:
        return gettext("no command")
    known = COMMANDS.get(command)
    return str((known and known.did) or command.replace("_", " "))


def tried_words(command: str | None) -> str:
    """Return short words for a command that was refused, such as “tried to create”; the path follows them."""
    known = COMMANDS.get(command or "")
    refused = str(known.refused).partition(" %(")[0] if known else ""
    return refused or gettext("tried: %(act)s") % {"act": act_words(command)}
