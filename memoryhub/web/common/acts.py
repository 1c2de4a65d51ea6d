"""Short words for commands, as lists of calls and versions show them."""

from django.utils.translation import gettext, gettext_lazy as _

WORDS = {
    "view": _("viewed"),
    "create": _("created"),
    "str_replace": _("replaced text"),
    "insert": _("inserted text"),
    "delete": _("deleted"),
    "rename": _("renamed"),
    "search": _("searched"),
    "history": _("viewed the history"),
    "edit": _("edited"),
    "restore": _("restored"),
    "restore_moment": _("restored to a moment"),
    "undo": _("undid"),
    "download": _("downloaded"),
    "approve": _("approved"),
    "revert": _("reverted"),
    "flag": _("flagged"),
}


def act_words(command: str | None) -> str:
    """Return short words for a command, or the command itself with spaces for underscores if it has no words."""
    if not command:
        return gettext("no command")
    return str(WORDS.get(command, command.replace("_", " ")))
