"""Limits and other settings of the hub in words, as the audit tells what they were before and after."""

from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from memoryhub.web.common.limit_fields import FIELDS


def name_of(setting: str) -> str:
    """What a setting is called; of one that is no limit its own name."""
    return str(FIELDS[setting][0]) if setting in FIELDS else setting


def of_limits(told: Mapping[str, Any]) -> str:
    """How the hub's limits changed."""
    pairs = [(name, value) for name, value in told.items() if isinstance(value, list) and len(value) == 2]
    changed = [f"{name_of(name)}: {_value(before)} → {_value(after)}" for name, (before, after) in pairs]
    return _("changed the hub’s limits: %(changes)s") % {"changes": "; ".join(changed) or _("nothing")}


def of_hour(told: Mapping[str, Any]) -> str:
    """How the hour changed at which a large file is written anew."""
    hours = told.get("hour")
    before, after = hours if isinstance(hours, list) and len(hours) == 2 else ("–", "–")
    return _("changed the hour of scrubbing from %(before)s:00 to %(after)s:00 UTC") % {
        "before": before,
        "after": after,
    }


def _value(limit: object) -> str:
    if limit is None:
        return _("default")
    return number_format(limit, use_l10n=True, force_grouping=True) if isinstance(limit, int) else str(limit)
