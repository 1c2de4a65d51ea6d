"""What a key did with a memory store, where words for people's settings do not tell it well."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

Told = Mapping[str, Any]


def with_pairs(told: Told) -> Told:
    """Settings before and after, with each pair of metadata that changed on its own."""
    sides = told.get("metadata")
    if not (isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, dict) for side in sides)):
        return told
    before, after = sides
    pairs = {
        _("metadata “%(name)s”") % {"name": name}: [before.get(name), after.get(name)]
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }
    return {**{name: value for name, value in told.items() if name != "metadata"}, **pairs}
