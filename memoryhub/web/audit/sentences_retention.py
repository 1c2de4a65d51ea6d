"""Policies, holds, pins and runs in words, as the audit tells what they were before and after."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditEntry
from memoryhub.web.retention import sentences

COMMANDS = (
    "set_policy", "delete_policy", "hold", "release", "start_run", "allow_run", "cancel_run", "undo_run", "expire",
    "purge", "prune_versions", "remove_entries",
)  # fmt: skip
Told = Mapping[str, Any]


def of_retention(entry: AuditEntry, told: Told) -> str:
    """One of COMMANDS as a sentence without who did it."""
    command = entry.command or ""
    if command in ("set_policy", "delete_policy"):
        return _of_policy(command, told)
    if command in ("hold", "release"):
        return _of_hold(command, entry, told)
    if command in ("expire", "purge"):
        return _of_memory(command, entry, told)
    return _of_run(command, entry, told)


def _of_policy(command: str, told: Told) -> str:
    """Of a new policy what is set, of a changed one what each setting was and is."""
    words = {"name": told.get("label"), "which": sentences.pattern_words(str(told.get("where") or ""))}
    if command == "delete_policy":
        return _("deleted the retention policy “%(name)s” of %(which)s") % words
    pairs = {name: value for name, value in told.items() if isinstance(value, list) and len(value) == 2}
    if "name" in pairs and pairs["name"][0] is None:
        given = {name: new for name, (_old, new) in pairs.items() if new and name not in ("name", "pattern")}
        settings = "; ".join(f"{setting_name(name)}: {_value(value)}" for name, value in given.items())
        return _("made the retention policy “%(name)s” of %(which)s: %(settings)s") % {**words, "settings": settings}
    changes = "; ".join(f"{setting_name(name)}: {_value(old)} → {_value(new)}" for name, (old, new) in pairs.items())
    return _("changed the retention policy “%(name)s”: %(changes)s") % {**words, "changes": changes or _("nothing")}


def setting_name(name: str) -> str:
    """What a setting of a policy is called."""
    words = {
        "name": _("name"),
        "pattern": _("which memories"),
        "expire_unread_days": _("expire unread after days"),
        "expire_unchanged_days": _("expire unchanged after days"),
        "expire_older_days": _("expire after days"),
        "keep_versions": _("newest versions kept"),
        "keep_version_days": _("days of versions kept"),
        "keep_entry_days": _("days of audit entries kept"),
        "grace_days": _("days in the trash"),
        "trash_days": _("days of what others deleted in the trash"),
        "paused": _("paused"),
    }
    return words.get(name, name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return "–" if value in (None, "") else str(value)


def _of_hold(command: str, entry: AuditEntry, told: Told) -> str:
    where = entry.path or told.get("path") or told.get("memory") or _("the whole memory store")
    reason = told.get("reason")
    said = next((str(one) for one in reason if one), "") if isinstance(reason, list) else ""
    is_hold = told.get("what") == "hold"
    if command == "release":
        words = _("released the legal hold on %(where)s") if is_hold else _("took the pin off %(where)s")
        return words % {"where": where}
    words = _("put a legal hold on %(where)s: %(reason)s") if is_hold else _("pinned %(where)s: %(reason)s")
    return words % {"where": where, "reason": said}


def _of_memory(command: str, entry: AuditEntry, told: Told) -> str:
    words = {"path": entry.path or "–", "why": sentences.rule_words(str(told.get("rule")))}
    if command == "expire":
        return _("put %(path)s into the trash: %(why)s") % words
    return _("removed %(path)s for good: %(why)s") % words


def _of_run(command: str, entry: AuditEntry, told: Told) -> str:
    count = _count(
        told.get(
            {"undo_run": "memories", "prune_versions": "versions", "remove_entries": "entries"}.get(command, "items")
        )
    )
    if command == "undo_run":
        return ngettext(
            "undid a run of the policies: %(count)s memory is back",
            "undid a run of the policies: %(count)s memories are back",
            count,
        ) % {"count": count}
    if command == "prune_versions":
        return ngettext(
            "removed %(count)s old version of %(path)s", "removed %(count)s old versions of %(path)s", count
        ) % {"count": count, "path": entry.path or "–"}
    if command == "remove_entries":
        return ngettext(
            "removed %(count)s audit entry, up to %(last)s", "removed %(count)s audit entries, up to %(last)s", count
        ) % {"count": count, "last": told.get("up_to")}
    if command == "start_run":
        return _("started a run of the policies")
    return _("let a run of the policies go on") if command == "allow_run" else _("cancelled a run of the policies")


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
