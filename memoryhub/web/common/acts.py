"""Short words for commands, as lists of calls and versions show them."""

from django.utils.translation import gettext

from memoryhub.actions.core.commands import COMMANDS


def act_words(command: str | None) -> str:
    """Return short words for a command, or the command itself with spaces for underscores if it has no words."""
    if not command:
        return gettext("no command")
    known = COMMANDS.get(command)
    return str((known and known.did) or command.replace("_", " "))
