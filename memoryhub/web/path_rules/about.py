"""The path rules that limit what agents may do with one memory, shown on the memory's page."""

from dataclasses import dataclass

from django.utils import timezone

from memoryhub.actions.core.rules.sight import day_of
from memoryhub.actions.stores import path_rules
from memoryhub.models import MemoryStore
from memoryhub.pure.path_rules import Effect, PathRule, PathRules, Verb
from memoryhub.web.path_rules.sentences import names_in, sentence


@dataclass(frozen=True, slots=True)
class About:
    """A rule that limits what agents may do at a path: its number (from 1), and its sentence."""

    number: int
    rule: PathRule
    sentence: str


def limits_at(store: MemoryStore, path: str) -> list[About]:
    """Return the rules that limit changes to the memory at a path, or that hide it, in order.

    Rules that never decide there, because of an earlier rule, are left out.
    """
    rules = PathRules(path_rules.of_store(store), day_of(timezone.now()))
    found: list[tuple[int, PathRule]] = []
    for at, (rule, matcher) in enumerate(zip(rules.rules, rules.matchers, strict=True)):
        if at in rules.over or rule.verbs == {Verb.CREATE} or not matcher.matches(path):
            continue
        if rule.effect is not Effect.ALLOW:
            found.append((at + 1, rule))
        if not rule.who and rule.only_if is None and rule.verbs == frozenset(Verb):
            break
    names = names_in(store, [rule for _number, rule in found]) if found else {}
    return [About(number, rule, sentence(rule, names)) for number, rule in found]
