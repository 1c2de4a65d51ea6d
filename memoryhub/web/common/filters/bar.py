"""The bar above a list: the words of its filter, the active filters, and fields for adding filters."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.utils import formats, timezone
from django.utils.translation import gettext

from memoryhub.models import HUB, User
from memoryhub.pure.text.filter_words import NOT
from memoryhub.pure.text.periods import is_date, period
from memoryhub.web.common.filters import SEVERAL, KeyValues
from memoryhub.web.common.filters.keys import KEYS, Choices, base, choices_of, shown
from memoryhub.web.common.filters.names import choices_for


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter in words, with the query strings of three pages that do not have this filter. A query string is
    empty if there is no such page."""

    key: str
    label: str
    shown: str
    excludes: bool
    query_without: str  # without the filter
    query_negated: str  # with the opposite filter
    query_as_words: str  # with plain words instead of the filter
    words: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field for adding a filter: a list of values, or a text."""

    key: str
    label: str
    value: str
    example: str
    choices: Choices

    @property
    def groups(self) -> list[tuple[str, Choices]]:
        """Return the choices in their groups, in order. Without groups, return one group with an empty name."""
        group = KEYS[self.key].group or (lambda _value: "")
        return [(name, list(choices)) for name, choices in groupby(self.choices, lambda choice: group(choice[0]))]


def bar_of(
    wanted: KeyValues,
    parameters: Mapping[str, str],
    words: Mapping[str, str],
    *,
    user: User,
    here: str,
    hidden: Collection[str] = (),
    extra: Collection[str] = (),
    with_hub: bool = False,
) -> dict[str, Any]:
    """Return the template context of a list with a filter. `words` is {key: its value in words}.

    The page does not offer the keys in `hidden`, and has its own controls for those in `extra`. With `with_hub`, the
    hub itself can be chosen like a store.
    """
    offered = [key for key in wanted.KEYS if key not in hidden]
    several = {key for key in SEVERAL if "," in parameters.get(key, "")}
    fields = [
        _field(key, parameters.get(key, ""), _choices(key, user, with_hub=with_hub))
        for key in offered
        if key not in {*extra, *several}
    ]
    named = {field.key for field in fields} | set(extra)
    carried = {key: parameters[key] for key in wanted.every_key() if parameters.get(key) and key not in named}
    return {
        "filter": wanted,
        "bar": parameters.get("q", ""),
        "chips": list(chips_of(wanted, words)),
        "fields": fields,
        "carried": carried | {key: value for key, value in wanted.shown_layout().items() if value},
        "offered": " ".join(offered),
        "here_url": here,
    }


def chips_of(wanted: KeyValues, words: Mapping[str, str]) -> Iterator[Chip]:
    """Yield a chip for each value of each key in a filter. `words` is {key: its value in words}."""
    for key in wanted.values:
        several = wanted.values_of(key)
        for value in several:
            said = words.get(key, value) if len(several) == 1 else value
            said = shown(base(key), value) if said == value else said
            yield _chip(wanted, key, value, _dated(value, said) if base(key) == "when" else said)


def _dated(value: str, said: str) -> str:
    """Return `said`, which is the period `value` in words, and append the days that the period covers now."""
    zone = timezone.get_current_timezone()
    try:
        found = None if is_date(value) else period(value, timezone.now(), zone)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        return said
    start, end = found
    if end is None:
        return gettext("%(period)s (since %(start)s)") % {"period": said, "start": _day(start, "j M Y, H:i")}
    first, last = _day(start), _day(end - timedelta(days=1))
    days = first if first == last else gettext("%(first)s to %(last)s") % {"first": first, "last": last}
    return f"{said} ({days})"


def _day(moment: datetime, form: str = "j M Y") -> str:
    return formats.date_format(timezone.localtime(moment), form)


def _chip(wanted: KeyValues, key: str, value: str, said: str) -> Chip:
    rest = ",".join(one for one in wanted.values_of(key) if one != value)
    excludes = key.startswith(NOT)
    opposite = base(key) if excludes else NOT + key
    negated = ""
    if KEYS[base(key)].can_exclude and (not wanted.values.get(opposite) or base(key) in SEVERAL):
        negated = wanted.query(**{key: rest, opposite: ",".join([*wanted.values_of(opposite), value])})
    phrase = next((term.written for term in wanted.typed if (term.key, term.value) == (key, value)), "")
    is_phrase = wanted.TAKES_WORDS and bool(phrase) and not _HAS_KEY.match(phrase)
    return Chip(
        key=key,
        label=str(KEYS[base(key)].label),
        shown=said,
        excludes=excludes,
        query_without=wanted.query(**{key: rest}),
        query_negated=negated,
        query_as_words=wanted.as_word(key, value, phrase) if is_phrase else "",
        words=phrase,
    )


_HAS_KEY = re.compile(r"-?\w+:")


def _choices(key: str, user: User, *, with_hub: bool) -> Choices:
    fixed = choices_of(key, with_hub=with_hub)
    if fixed is not None:
        return [(value, _dated(value, words)) for value, words in fixed] if key == "when" else fixed
    hub = [(HUB, gettext("The hub itself"))] if key == "store" and with_hub else []
    named = choices_for(user, key)
    return [*hub, *named] if named else []


def _field(key: str, value: str, choices: Choices) -> Field:
    spec = KEYS[key]
    value = next((id for id, name in choices if value and name == value), value)
    if value and choices and value not in dict(choices):
        choices = [*choices, (value, shown(key, value))]
    return Field(key, str(spec.label), value, spec.example, choices)
