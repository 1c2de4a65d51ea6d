"""Imports in words, as the audit tells them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditEntry

COMMANDS = ("prepare_import", "start_import", "import", "cancel_import")


def of_imports(entry: AuditEntry, told: Mapping[str, Any]) -> str:
    """What one of these commands did."""
    if entry.command == "import":
        return _imported(entry, told)
    if entry.command == "cancel_import":
        return _("cancelled the import %(import)s") % {"import": told.get("import", "–")}
    count = _count(told, "memories") if entry.command == "prepare_import" else _count(told, "take", "beside")
    values = {"name": told.get("name", "–"), "count": count, "place": told.get("place") or "/"}
    if entry.command == "prepare_import":
        return (
            ngettext(
                "brought %(name)s with %(count)s memory, to be imported into %(place)s",
                "brought %(name)s with %(count)s memories, to be imported into %(place)s",
                count,
            )
            % values
        )
    return (
        ngettext(
            "started the import of %(name)s: %(count)s memory into %(place)s",
            "started the import of %(name)s: %(count)s memories into %(place)s",
            count,
        )
        % values
    )


def _imported(entry: AuditEntry, told: Mapping[str, Any]) -> str:
    values = {"path": entry.path or "–", "count": _count(told, "versions")}
    if not entry.ok:
        return _("tried to import %(path)s") % values
    if values["count"] != 1:
        return _("imported %(path)s with its history of %(count)s versions") % values
    return _("imported %(path)s") % values


def _count(told: Mapping[str, Any], *names: str) -> int:
    found = [told.get(name) for name in names]
    return sum(value for value in found if isinstance(value, int))
