"""Sentences for changed settings of stores, agents, people, policies, webhooks and the hub."""

from collections.abc import Mapping

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from memoryhub.pure.limits import COLUMNS
from memoryhub.web.audit.names import EntryInput
from memoryhub.web.common.texts import kinds


def changes(details: EntryInput, names: Mapping[str, str]) -> str:
    """Return the old and new value of each changed setting; `names` maps ids to names."""
    pairs = {name: sides for name, sides in _with_pairs(details).items() if _is_pair(sides)}
    shown = {name: [_value(name, side, names) for side in sides] for name, sides in pairs.items()}
    said = [f"{setting_name(name)}: {old} → {new}" for name, (old, new) in shown.items() if old != new]
    return "; ".join(said) or _("nothing")


def of_new(details: EntryInput, names: Mapping[str, str]) -> str:
    """Return the settings with which an object was created; empty if the object existed before."""
    pairs = {name: sides for name, sides in details.items() if _is_pair(sides)}
    if pairs.get("name", [""])[0] is not None:
        return ""
    given = {name: new for name, (_old, new) in pairs.items() if new and name not in ("name", "pattern")}
    return "; ".join(f"{setting_name(name)}: {_value(name, new, names)}" for name, new in given.items()) or _("nothing")


def of_rules(details: EntryInput) -> str:
    """Return the old and the new action for each kind of sensitive text whose rule changed."""
    before, after = (
        value if isinstance(value, dict) else {} for value in (details.get("before"), details.get("after"))
    )
    actions = {"off": _("off"), "flag": _("flag"), "mask": _("mask"), "block": _("block")}
    defaults = value if isinstance(value := details.get("defaults"), dict) else {}

    def action(rules: EntryInput, kind: str) -> str:
        default = actions.get(defaults.get(kind, ""))
        if kind not in rules:
            return _("%(action)s by default") % {"action": default} if default else _("default")
        return actions.get(rules[kind], str(rules[kind]))

    changed = [
        f"{kinds.label(kind)}: {action(before, kind)} → {action(after, kind)}"
        for kind in sorted({*before, *after})
        if before.get(kind) != after.get(kind)
    ]
    return "; ".join(changed) or _("nothing")


def setting_name(name: str) -> str:
    """Return the label of a setting, or its own name if it has no label."""
    words = {
        "name": _("name"),
        "pattern": _("memories it applies to"),
        "expire_unread_days": _("days without a read before a memory expires"),
        "expire_unchanged_days": _("days without a change before a memory expires"),
        "expire_older_days": _("days after creation before a memory expires"),
        "keep_versions": _("newest versions kept"),
        "keep_version_days": _("days for which versions are kept"),
        "keep_entry_days": _("days for which audit entries are kept"),
        "grace_days": _("days in the trash"),
        "trash_days": _("days in the trash for what people and agents deleted"),
        "keeps_approved": _("keeps what a person wrote or approved"),
        "expires_together": _("a memory expires only when all ticked sentences are true"),
        "paused": _("paused"),
        "url": _("address"),
        "events": _("events"),
        "may_be_private": _("private address allowed"),
        "is_chat": _("message to a chat"),
        "mails_comments": _("quotes comments in e-mail"),
        "records_views": _("records who reads memories"),
        "email_digest": _("e-mail about what waits"),
        "email_hour": _("hour of the digest"),
        "email_warnings": _("e-mail before retention removes something"),
        "email_alarms": _("e-mail about alarms"),
    }
    return _(COLUMNS[name].label) if name in COLUMNS else words.get(name, name)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


def _with_pairs(details: EntryInput) -> EntryInput:
    """Return {setting: (old value, new value)}, with one pair for each changed field of `metadata`."""
    sides = details.get("metadata")
    if not (isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, dict) for side in sides)):
        return details
    before, after = sides
    pairs = {
        _("metadata “%(name)s”") % {"name": name}: [before.get(name), after.get(name)]
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }
    return {**{name: value for name, value in details.items() if name != "metadata"}, **pairs}


def _value(setting: str, value: object, names: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value is None and setting in COLUMNS:
        return _("default")
    if value in (None, "", []):
        return "–"
    if isinstance(value, list):
        return ", ".join(_value(setting, one, names) for one in value)
    if isinstance(value, int):
        return number_format(value, use_l10n=True, force_grouping=True)
    return names.get(str(value), str(value))
