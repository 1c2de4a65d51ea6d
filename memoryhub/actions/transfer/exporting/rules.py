"""The path rules in an export, with the names of the agents and keys to which they apply."""

from collections.abc import Sequence

from memoryhub.models import Agent, Key, MemoryStore, MemoryVersion
from memoryhub.pure.path_rules import Lines, of_json
from memoryhub.pure.transfer.bundle import BundledRule


def rules(store: MemoryStore) -> Sequence[BundledRule]:
    """Return the rules of a store in their order."""
    found = of_json(store.path_rules).rules
    named = {rule.who for rule in found if rule.who}
    names = dict(Agent.objects.filter(pk__in=named).values_list("pk", "name"))
    names |= dict(Key.objects.filter(pk__in=named).values_list("pk", "name"))
    versions = {rule.only_if.version for rule in found if isinstance(rule.only_if, Lines)}
    texts = MemoryVersion.objects.among(store.pk, versions).filter(redacted_at=None)
    sums = dict(texts.values_list("pk", "sha256"))
    return [
        BundledRule(
            rule,
            names.get(rule.who, ""),
            sums.get(rule.only_if.version) if isinstance(rule.only_if, Lines) else None,
        )
        for rule in found
    ]
