"""Saves the path rules of a memory store, which say what agents may change and see."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryStore
from memoryhub.pure.path_rules import PathRule, of_json, require_valid


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

    `expected` is the digest of the rules that the person saw. Raises ToolError if the store is archived. Also raises
    BadRule, RulesChanged and NoSuchStore.
    """
    require_valid(rules)
    with tree.locked(store_id, act) as store:
        before = of_store(MemoryStore.objects.get(pk=store_id))
        if before == tuple(rules):
            return
        if digest(before) != expected:
            raise RulesChanged
        tree.require_active(store)
        tree.commit(store, replaced(store, before, rules))


def name_too(store_id: str, key: str, new: str, act: Act) -> None:
    """For each rule of a store about the key `key`, add the same rule about the key `new` directly after it.

    If no rule names `key`, nothing is written. Raises BadRule if there would be too many rules; ToolError if the store
    is archived. Also raises NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        before = of_store(MemoryStore.objects.get(pk=store_id))
        rules: list[PathRule] = []
        for rule in before:
            rules += [rule, replace(rule, who=new)] if rule.who == key else [rule]
        if len(rules) == len(before):
            return
        require_valid(rules)
        tree.require_active(store)
        tree.commit(store, replaced(store, before, rules))


def replaced(store: Tree, before: Sequence[PathRule], rules: Sequence[PathRule], **more: object) -> Record:
    """Replace the rules of a locked store. `before` are its rules until now.

    Return the record of the entry. The entry's input also has `more`.
    """
    after = [rule.as_json() for rule in rules]
    MemoryStore.objects.filter(pk=store.store).update(path_rules=after, updated_at=store.at)
    details = {"before": [rule.as_json() for rule in before], "after": after, **more}
    return Record("edit_path_rules", input=audit.to_json(details))
