"""The path rules that name an agent or a key, for the pages of agents and keys."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memoryhub.actions.stores import path_rules
from memoryhub.models import Key, MemoryStore, User
from memoryhub.pure import ids as id_prefixes
from memoryhub.pure.path_rules import PathRule
from memoryhub.web.path_rules.sentences import names_in, sentence

MOST_STORES = 20
KEY_ENDED = gettext_lazy("The key is revoked or has expired, so the rule applies to no one.")
KEYS_ENDED = gettext_lazy("All keys of the agent to this memory store are revoked or have expired.")


@dataclass(frozen=True, slots=True)
class Naming:
    """A memory store, and (number, sentence) of each of its rules that names the agent or a key."""

    store: MemoryStore
    rules: list[tuple[int, str]]


def rules_naming(user: User, ids: Collection[str], *, but_not: str = "") -> list[Naming]:
    """Return the rules that name one of the agents or keys `ids`, in at most MOST_STORES stores.

    A rule is left out if its store has the same rule for the agent or key `but_not`.
    """
    named = Q(pk=None)
    for one in ids:
        named |= Q(path_rules__contains=one)
    stores = MemoryStore.objects.visible_to(user).filter(named).by_name()[:MOST_STORES]
    found = [Naming(store, _rules(store, ids, but_not)) for store in stores]
    return [one for one in found if one.rules]


def ended_keys(store: MemoryStore, rules: Iterable[PathRule]) -> dict[str, str]:
    """Return {id: a sentence} for the agents and keys in `rules` that can make no more calls in this store."""
    named = {rule.who for rule in rules if rule.who}
    if not named:
        return {}
    keys = Key.objects.for_store(store).filter(Q(pk__in=named) | Q(agent_id__in=named))
    usable = set(keys.usable(timezone.now()).values_list("pk", flat=True))
    of_each: dict[str, set[str]] = defaultdict(set)
    for key, agent in keys.values_list("pk", "agent_id"):
        of_each[key].add(key)
        of_each[agent].add(key)
    ended = (who for who in named if of_each[who] and not of_each[who] & usable)
    return {who: str(KEY_ENDED if who.startswith(id_prefixes.KEY) else KEYS_ENDED) for who in ended}


def _rules(store: MemoryStore, ids: Collection[str], but_not: str) -> list[tuple[int, str]]:
    rules = path_rules.of_store(store)
    names, others = names_in(store, rules), {rule for rule in rules if but_not and rule.who == but_not}
    naming = ((number, rule) for number, rule in enumerate(rules, 1) if rule.who in ids)
    return [(number, sentence(rule, names)) for number, rule in naming if replace(rule, who=but_not) not in others]
