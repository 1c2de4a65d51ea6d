"""Finds the texts that an erasure does not change: texts that only people can change, and texts in other spellings.

Every text column of the hub is searched here or in `places`. `tests/actions/erasure/test_erasure_everywhere.py` lists
the exceptions.
"""

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from django.db import models
from django.db.models import Q

from memoryhub.actions.erasure import places
from memoryhub.actions.erasure.places import Place
from memoryhub.models import (
    Agent,
    AuditEntry,
    Invitation,
    Key,
    MemoryStore,
    MemoryVersion,
    RetentionPolicy,
    Session,
    User,
    Webhook,
)
from memoryhub.pure.text.name_forms import NameForms
from memoryhub.pure.text.spellings import NearSpellings, Spellings

MOST_SPELLINGS = 100
"""The most spellings that can be chosen at once. After their erasure, another search finds further spellings."""

MOST_NEAR = 12
"""The most near spellings of a store: first the other forms of names, then the spellings that are in the most
places."""


def _agents(store_id: str) -> models.QuerySet[Agent]:
    """Return the agents that have a key for the store, or that have written in it."""
    return Agent.objects.filter(
        Q(keys__stores=store_id) | Q(pk__in=AuditEntry.objects.of_chain(store_id).values("author_id"))
    ).distinct()


ELSEWHERE = (
    Place("webhook", lambda store: Webhook.objects.filter(store_id=store), ("name", "url")),
    Place("agent", _agents, ("name", "description")),
    Place("key", lambda store: Key.objects.filter(stores=store).distinct(), ("name",)),
    Place("person", lambda store: User.objects.filter(memberships__store_id=store), ("name", "email")),
    Place("invitation", lambda store: Invitation.objects.filter(store_id=store), ("email",)),
    Place("hub_policy", lambda _: RetentionPolicy.objects.filter(store=None), ("name", "pattern")),
    Place(
        "origin", lambda store: MemoryVersion.objects.filter(store_id=store, origin__isnull=False), ("origin",), True
    ),
)
"""The places that are searched, but that only people change."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A spelling of a text, and how many erasable places contain the spelling.

    If `same` is True, the spelling differs from the text only in case, width, accents and the like. If it is False, the
    spaces between the words differ too.
    """

    text: str
    places: int
    same: bool


@dataclass(frozen=True, slots=True)
class There:
    """A text that contains a spelling and that a person has to change: its row (`kind`, `id`) and column (`what`)."""

    kind: str
    id: str
    what: str
    text: str


class TooLong(Exception):
    """The search of a store was stopped, because it would take longer than the caller can wait."""


def spellings(store_id: str, texts: Sequence[str], after: int = 0, *, whole_hub: bool) -> tuple[Spelling, ...]:
    """Return every spelling of `texts` in erasable places.

    The spellings with `Spelling.same` come first, then the others. In both groups, the spellings with the most places
    come first. With `after` (a seq), growing tables are searched only for rows that later acts wrote.
    """
    looked_for = Spellings(texts)
    counts: Counter[str] = Counter()
    sessions = _sessions(store_id, lambda name: bool(looked_for.within(name)), whole_hub)
    for value in itertools.chain(_values(store_id, after), sessions, _views(store_id, whole_hub)):
        counts.update({spelling for text in _strings(value) for spelling in looked_for.within(text)})
    return _ordered(looked_for, counts)


def spellings_and_near(
    store_id: str, texts: Sequence[str], until: float, *, whole_hub: bool
) -> tuple[tuple[Spelling, ...], tuple[Spelling, ...]]:
    """Return two tuples: what `spellings` returns, and at most MOST_NEAR near spellings.

    Another form of a name is a near spelling, too. Saved views are not searched for near spellings. Raises TooLong when
    the monotonic clock reaches `until`.
    """
    looked_for, nearly, named = Spellings(texts), NearSpellings(texts), NameForms(texts)
    counts: Counter[str] = Counter()
    near: Counter[str] = Counter()
    formed: set[str] = set()

    def is_sought(name: str) -> bool:
        return bool(looked_for.within(name) or nearly.within(name) or named.within(name))

    sessions = _sessions(store_id, is_sought, whole_hub)
    for value in itertools.chain(_values(store_id, 0), sessions):
        if time.monotonic() > until:
            raise TooLong
        strings = list(_strings(value))
        counts.update({spelling for text in strings for spelling in looked_for.within(text)})
        forms = {spelling for text in strings for spelling in named.within(text)}
        near.update(forms | {spelling for text in strings for spelling in nearly.within(text)})
        formed |= forms
    # A near spelling in a saved view could be a word that another person typed.
    for text in _views(store_id, whole_hub):
        counts.update(looked_for.within(text))
    often = sorted(near.items(), key=lambda one: (one[0] not in formed, -one[1], one[0]))[:MOST_NEAR]
    return _ordered(looked_for, counts), tuple(Spelling(text, count, same=False) for text, count in often)


def _ordered(looked_for: Spellings, counts: Counter[str]) -> tuple[Spelling, ...]:
    ordered = sorted(counts.items(), key=lambda one: (not looked_for.is_same(one[0]), -one[1], one[0]))
    return tuple(Spelling(text, count, looked_for.is_same(text)) for text, count in ordered)


def elsewhere(store_id: str, texts: Sequence[str], *, whole_hub: bool) -> tuple[There, ...]:
    """Return the stored texts that an erasure does not change, and that contain a spelling of one of `texts`."""
    looked_for = Spellings(texts)
    found = [
        There(place.kind, str(row.pk), column, text)
        for place in ELSEWHERE
        for row in place.rows(store_id)
        for column in place.columns
        if (text := " ".join(_strings(getattr(row, column)))) and looked_for.within(text)
    ]
    if not whole_hub:
        found += [
            There("session", session.pk, "name", session.name)
            for session in _of_store(store_id).iterator(200)
            if looked_for.within(session.name) and places.is_shared(store_id, session.pk)
        ]
    return tuple(sorted(found, key=lambda there: (there.kind, there.id, there.what)))


def _values(store_id: str, after: int) -> Iterator[object]:
    """Yield every value that an erasure can change, except names of sessions and values of saved views."""
    for place in (*places.GROWING, *places.PLAIN, *places.PLAIN_JSON, *(() if after else places.COPIES)):
        rows: models.QuerySet[Any] = place.rows(store_id)
        if after and place.since is not None:
            rows = place.since(rows, store_id, after)
        for row in rows.values_list(*place.columns).iterator(200):
            for value in row:
                yield json.loads(value) if place.escaped and isinstance(value, str) and "\\" in value else value
    for rules in MemoryStore.objects.filter(pk=store_id).values_list("path_rules", flat=True):
        yield from places.texts_of_rules(rules)


def _of_store(store_id: str) -> models.QuerySet[Session]:
    """Return the sessions that worked in a store."""
    entries = AuditEntry.objects.of_chain(store_id)
    return Session.objects.filter(pk__in=entries.exclude(session=None).values("session"))


def _sessions(store_id: str, is_sought: Callable[[str], bool], whole_hub: bool) -> Iterator[str]:
    """Yield each session name for which `is_sought` returns True, if an erasure can change the name."""
    for session in _of_store(store_id).iterator(200):
        if is_sought(session.name) and (whole_hub or not places.is_shared(store_id, session.pk)):
            yield session.name


def _views(store_id: str, whole_hub: bool) -> Iterator[str]:
    for name, query in places.views_within(store_id, whole_hub=whole_hub).values_list("name", "query"):
        yield from (name, unquote_plus(query))


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (str(key), *_strings(item))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
