"""Rules for sensitive text, findings and reveals in words, as the audit tells them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditEntry
from memoryhub.web.common import kinds as findings_words

COMMANDS = ("edit_rules", "dismiss_finding", "resolve_finding", "reopen_finding", "reveal")


def of_rules(entry: AuditEntry, told: Mapping[str, Any]) -> str:
    """What one of these commands did."""
    if entry.command == "edit_rules":
        return _("changed the rules for sensitive text: %(changes)s") % {"changes": _changes(told)}
    if entry.command == "reveal":
        return _("revealed the text of %(path)s in version %(version)s") % {
            "path": entry.path,
            "version": entry.version,
        }
    count = _count(told.get("before"))
    sentences = {
        "dismiss_finding": ngettext(
            "dismissed %(count)s finding: %(kinds)s", "dismissed %(count)s findings: %(kinds)s", count
        ),
        "resolve_finding": ngettext(
            "resolved %(count)s finding: %(kinds)s", "resolved %(count)s findings: %(kinds)s", count
        ),
        "reopen_finding": ngettext(
            "opened %(count)s finding again: %(kinds)s", "opened %(count)s findings again: %(kinds)s", count
        ),
    }
    kinds = told.get("kinds")
    named = ", ".join(findings_words.label(str(kind)) for kind in (kinds if isinstance(kinds, list) else ()))
    said = sentences[entry.command or ""] % {"count": count, "kinds": named or "–"}
    if not isinstance(seq := told.get("entry"), int):
        return said
    if entry.command == "resolve_finding":
        return _("%(said)s: entry %(seq)s took the text out") % {"said": said, "seq": seq}
    return _("%(said)s: entry %(seq)s wrote the text again") % {"said": said, "seq": seq}


def _count(before: object) -> int:
    """How many findings an entry names, by the state that they had."""
    if not isinstance(before, dict):
        return 0
    return sum(len(ids) if isinstance(ids, list) else int(dict(ids).get("count", 0)) for ids in before.values())


def _changes(told: Mapping[str, Any]) -> str:
    before, after = (value if isinstance(value, dict) else {} for value in (told.get("before"), told.get("after")))
    actions = {"off": _("off"), "flag": _("flag"), "mask": _("mask"), "block": _("block"), None: _("default")}
    changed = [
        f"{findings_words.label(kind)}: {actions.get(before.get(kind))} → {actions.get(after.get(kind))}"
        for kind in sorted({*before, *after})
        if before.get(kind) != after.get(kind)
    ]
    return "; ".join(changed) or _("nothing")
