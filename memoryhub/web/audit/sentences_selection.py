"""Acts on a selection, exports and shared views in words, as the audit tells them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditEntry
from memoryhub.models.audit import ActorKind

_NAMED = 3


def of_selection(entry: AuditEntry, told: Mapping[str, Any]) -> str | None:
    """What a person did with what they had selected, and what anybody exported; null for any other entry."""
    count, paths = told.get("memories"), told.get("paths")
    if (
        (entry.actor_kind != ActorKind.USER and entry.command != "export")
        or not isinstance(count, int)
        or not isinstance(paths, list)
    ):
        return None
    text = {
        "delete": ngettext("deleted %(count)s memory: %(paths)s", "deleted %(count)s memories: %(paths)s", count),
        "move": ngettext(
            "moved %(count)s memory to %(into)s: %(paths)s", "moved %(count)s memories to %(into)s: %(paths)s", count
        ),
        "restore": ngettext(
            "restored %(count)s memory from the trash: %(paths)s",
            "restored %(count)s memories from the trash: %(paths)s",
            count,
        ),
        "export": ngettext(
            "exported %(count)s memory as %(format)s: %(paths)s",
            "exported %(count)s memories as %(format)s: %(paths)s",
            count,
        ),
    }.get(entry.command or "")
    given = {"count": count, "paths": _few(paths, told.get("selected")), "into": told.get("into")}
    return text and text % {**given, "format": told.get("format")}


def of_table(told: Mapping[str, Any]) -> str:
    """What was downloaded of a list."""
    tables = {
        "trash": _("the trash"),
        "versions": _("the versions of %(path)s"),
        "agents": _("the agents"),
        "receipt": _("the receipt %(receipt)s"),
    }
    table = tables.get(str(told.get("table")), str(told.get("table"))) % {
        "path": told.get("path"),
        "receipt": told.get("receipt"),
    }
    words = _("exported %(table)s as %(format)s") % {"table": table, "format": told.get("format")}
    return f"{words}, {_('filtered by: %(filter)s') % told}" if told.get("filter") else words


def of_view(command: str, told: Mapping[str, Any]) -> str:
    """What became of a shared view."""
    name = told.get("name")
    if command == "rename_view" and isinstance(name, list) and len(name) == 2:
        return _("renamed the shared view “%(old)s” to “%(new)s”") % {"old": name[0], "new": name[1]}
    if command == "delete_view":
        return _("deleted the shared view “%(name)s”") % {"name": name}
    return _("shared the view “%(name)s” with the members of the store") % {"name": name}


def _few(paths: list[Any], selected: object) -> str:
    named = ", ".join(map(str, paths[:_NAMED]))
    more = (selected if isinstance(selected, int) else len(paths)) - _NAMED
    if more <= 0:
        return named
    return ngettext("%(paths)s and %(count)s more", "%(paths)s and %(count)s more", more) % {
        "paths": named,
        "count": more,
    }
