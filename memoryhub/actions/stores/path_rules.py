"""Saves the path rules of a memory store: what its agents may change."""

import hashlib
from collections.abc import Sequence

from memoryhub import retention_rules
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.models import MemoryStore
from memoryhub.path_rules import (
    LONGEST_REASON,
    MOST_A_SESSION,
    MOST_RULES,
    Effect,
    Lines,
    PathRule,
    can_be_id,
    names_one_memory,
    of_json,
)


class BadRule(ValueError):
    """A list of rules that cannot be stored: it is too long, or a pattern, reason, list of verbs or limit is not
    valid."""


class RulesChanged(Exception):
    """Someone else has changed the rules since the person opened them."""


def digest(rules: Sequence[PathRule]) -> str:
    """Return a digest of rules in their order."""
    return hashlib.sha256(audit.to_json([rule.as_json() for rule in rules]).encode()).hexdigest()


def of_store(store: MemoryStore) -> tuple[PathRule, ...]:
    """Return the rules of a store in their order."""
    return of_json(store.path_rules).rules


def save(store_id: str, rules: Sequence[PathRule], expected: str, act: Act) -> None:
    """Replace the rules of a store. The entry has the rules before and after; without a change, nothing is written.

    `expected` is the digest of the rules that the person saw. Raises BadRule, RulesChanged, ToolError if the store is
    archived, and NoSuchStore.
    """
    _check(rules)
    with tree.locked(store_id, act) as store:
        before = of_store(MemoryStore.objects.get(pk=store_id))
        if before == tuple(rules):
            return
        if digest(before) != expected:
            raise RulesChanged
        tree.require_active(store)
        after = [rule.as_json() for rule in rules]
        MemoryStore.objects.filter(pk=store_id).update(path_rules=after, updated_at=act.at)
        details = {"before": [rule.as_json() for rule in before], "after": after}
        tree.commit(store, Record("edit_path_rules", input=audit.to_json(details)))


def _check(rules: Sequence[PathRule]) -> None:
    if len(rules) > MOST_RULES:
        raise BadRule(f"{len(rules)} rules; {MOST_RULES} are the most")
    for number, rule in enumerate(rules, 1):
        try:
            clean = retention_rules.cleaned(rule.pattern)
        except retention_rules.BadPattern as error:
            raise BadRule(f"rule {number}: pattern {error.code}") from None
        if isinstance(rule.only_if, Lines) and not names_one_memory(rule.pattern):
            raise BadRule(f"rule {number}: lines of several memories")
        is_whole = bool(rule.verbs) and can_be_id(rule.who)
        if clean != rule.pattern or not is_whole or len(rule.reason) > LONGEST_REASON:
            raise BadRule(f"rule {number}")
        if rule.most is not None and (rule.effect is not Effect.PROPOSE or not 1 <= rule.most <= MOST_A_SESSION):
            raise BadRule(f"rule {number}: limit of a session")
        if rule.reason != " ".join(rule.reason.split()) or not rule.reason.isprintable():
            raise BadRule(f"rule {number}: reason")
