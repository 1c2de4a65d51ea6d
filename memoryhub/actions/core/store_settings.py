"""The settings of a memory store that an act on it needs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings

from memoryhub.actions.core.rules.limits import Limits


class Settings(NamedTuple):
    """The settings of a store. `path_rules` is a JSON text.

    `rules` has two JSON texts: the store's rules for sensitive text, and the hub's (None: the hub has no rules).
    """

    archived: bool
    overwrite: bool
    proposes_without_error: bool
    shows_proposed: bool
    path_rules: str
    rules: tuple[str, str | None]
    limits: Limits


def of_row(columns: Sequence[Any]) -> Settings:
    """Return the settings in a row of `sql.STORE`.

    A limit that neither the store nor the hub has set comes from MEMORYHUB_LIMITS.
    """
    archived, overwrite, no_error, shows, path_rules, rules, hub_rules, *set_limits = columns
    defaults = settings.MEMORYHUB_LIMITS
    named = zip(Limits._fields, set_limits, strict=True)
    limits = Limits(*[defaults[name] if value is None else value for name, value in named])
    answers = bool(overwrite), bool(no_error), bool(shows)
    return Settings(bool(archived), *answers, path_rules, (rules, hub_rules), limits)
