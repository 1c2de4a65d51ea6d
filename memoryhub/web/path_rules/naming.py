"""The path rules that name an agent or its keys, for their pages."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from memoryhub.actions.stores import path_rules
from memoryhub.models import MemoryStore, User
from memoryhub.web.path_rules.sentences import names_in, sentence

MOST_STORES = 20


@dataclass(frozen=True, slots=True)
class Naming:
    """A memory store, and (number, sentence) of each of its rules that names the agent or a key."""

    store: MemoryStore
    rules: list[tuple[int, str]]


def rules_naming(user: User, ids: Collection[str]) -> list[Naming]:
    """Return the rules that name the agent or keys `ids`, in at most MOST_STORES memory stores that the person may
    see."""
    named = Q(pk=None)
    for one in ids:
        named |= Q(path_rules__contains=one)
    stores = MemoryStore.objects.visible_to(user).filter(named).by_name()[:MOST_STORES]
    found = [Naming(store, _rules(store, ids)) for store in stores]
    return [one for one in found if one.rules]


def _rules(store: MemoryStore, ids: Collection[str]) -> list[tuple[int, str]]:
    rules = path_rules.of_store(store)
    names = names_in(store, rules)
    return [(number, sentence(rule, names)) for number, rule in enumerate(rules, 1) if rule.who in ids]
