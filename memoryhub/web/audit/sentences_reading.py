"""What agents look for and look back at, as the audit tells it."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

COMMANDS = ("search", "history")


def of_further(command: str | None, told: Mapping[str, Any], path: str | None) -> str:
    """What one of these commands did; a call that could not be made may tell anything."""
    if command == "history":
        return _("looked at the history of %(path)s") % {"path": path or _text(told.get("path"))}
    beneath = told.get("path_prefix")
    words = {"query": _text(told.get("query")), "path": _text(beneath)}
    if beneath in (None, "", "/"):
        return _("searched for “%(query)s”") % words
    return _("searched for “%(query)s” beneath %(path)s") % words


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else "–"
