"""What was done with webhooks in words, as the audit tells it."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import Pause

COMMANDS = (
    "create_webhook", "edit_webhook", "pause_webhook", "resume_webhook", "rotate_webhook", "reveal_webhook",
    "delete_webhook", "test_webhook", "replay_webhook",
)  # fmt: skip


def of_webhooks(command: str, told: Mapping[str, Any]) -> str:
    """What one of these commands did."""
    name = told.get("name", "–")
    if isinstance(name, list):  # an edit of the name tells both
        name = name[0] if name else "–"
    return _created(told) if command == "create_webhook" else _simple(command, told) % {"name": name}


def _created(told: Mapping[str, Any]) -> str:
    state = told.get("state")
    made = state[1] if isinstance(state, list) and len(state) == 2 and isinstance(state[1], dict) else {}
    values = {"name": told.get("name", "–"), "url": made.get("url", "–")}
    return _("made the webhook “%(name)s” to %(url)s") % values


def _simple(command: str, told: Mapping[str, Any]) -> str:
    """A sentence with the name left open."""
    if command == "edit_webhook":
        return _("changed the webhook “%(name)s”") + ": " + _changes(told).replace("%", "%%")
    if command == "pause_webhook":
        return _paused(str(told.get("for", "")))
    if command == "replay_webhook":
        count = told.get("deliveries")
        if not isinstance(count, int):
            return _("sent a delivery of the webhook “%(name)s” again")
        words = ngettext(
            "sent %(count)s failed delivery of the webhook “%(name)s” again",
            "sent %(count)s failed deliveries of the webhook “%(name)s” again",
            count,
        )
        return words.replace("%(count)s", str(count))
    return {
        "resume_webhook": _("let the webhook “%(name)s” go on"),
        "rotate_webhook": _("gave the webhook “%(name)s” another secret"),
        "reveal_webhook": _("looked at the secret of the webhook “%(name)s”"),
        "delete_webhook": _("deleted the webhook “%(name)s”"),
        "test_webhook": _("sent a test event to the webhook “%(name)s”"),
    }[command]


def _paused(why: str) -> str:
    if why == Pause.GONE:
        return _("paused the webhook “%(name)s”: its receiver said that it is gone")
    if why == Pause.FAILING:
        return _("paused the webhook “%(name)s”: nothing had arrived for days")
    return _("paused the webhook “%(name)s”")


def _changes(told: Mapping[str, Any]) -> str:
    names = {
        "name": _("name"),
        "url": _("address"),
        "events": _("events"),
        "may_be_private": _("private address allowed"),
    }
    return "; ".join(
        f"{names[what]}: {_value(sides[0])} → {_value(sides[1])}"
        for what, sides in told.items()
        if what in names and isinstance(sides, list) and len(sides) == 2
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return str(value)
