"""Redactions, erasures, scans of the history and the first seals in words, as the audit tells them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

COMMANDS = ("redact", "erase", "start_scan", "cancel_scan", "end_scan", "note_findings", "seal_rows")


def of_erasure(command: str, told: Mapping[str, Any]) -> str:
    """What was done by one of COMMANDS."""
    if command == "redact":
        return _("redacted version %(number)s of a memory") % {"number": told.get("number")}
    if command == "erase":
        return _of_places(told)
    if command == "start_scan":
        return _("began to scan the history for: %(kinds)s") % {"kinds": _kinds(told)}
    if command == "seal_rows":
        rows = _count(told, "rows")
        return ngettext(
            "sealed %(count)s row of people, roles, keys, settings and rules as it stood",
            "sealed %(count)s rows of people, roles, keys, settings and rules as they stood",
            rows,
        ) % {"count": rows}
    found = _count(told, "found")
    text = {
        "note_findings": ngettext(
            "found %(count)s new finding in the history", "found %(count)s new findings in the history", found
        ),
        "cancel_scan": ngettext(
            "stopped the scan of the history after %(checked)s versions, with %(count)s new finding",
            "stopped the scan of the history after %(checked)s versions, with %(count)s new findings",
            found,
        ),
        "end_scan": ngettext(
            "scanned the history, %(checked)s versions, with %(count)s new finding",
            "scanned the history, %(checked)s versions, with %(count)s new findings",
            found,
        ),
    }.get(command, command)
    return text % {"checked": _count(told, "checked"), "count": found}


def _of_places(told: Mapping[str, Any]) -> str:
    counts = told.get("places")
    places = sum(counts.values()) if isinstance(counts, dict) else 0
    texts = _count(told, "texts")
    said = ngettext("erased %(texts)s text", "erased %(texts)s texts", texts) % {"texts": texts}
    where = ngettext("from %(count)s place", "from %(count)s places", places) % {"count": places}
    return f"{said} {where}"


def _kinds(told: Mapping[str, Any]) -> str:
    kinds = told.get("kinds")
    return ", ".join(map(str, kinds)) if isinstance(kinds, list) else "–"


def _count(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
