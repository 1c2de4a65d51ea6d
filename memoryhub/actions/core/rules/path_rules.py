"""Path rules: what agents may change. Every verb checks them before its first write; people are never refused."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from memoryhub.actions.core import proposing
from memoryhub.actions.core.rules.protected_lines import ProtectedLines
from memoryhub.actions.core.rules.sight import day_of
from memoryhub.actions.core.sql import lists
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.models.audit import ActorKind
from memoryhub.pure import path_rules
from memoryhub.pure.path_rules import (
    NO_RULES,
    NONE_MET,
    Condition,
    Decision,
    Doer,
    Effect,
    Lines,
    Met,
    PathRule,
    PathRules,
    Verb,
)
from memoryhub.pure.path_rules.many import ManyPaths, TooMuchWork
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import RefusedByRule, ToolError
from memoryhub.pure.text.kept_lines import are_kept
from memoryhub.pure.text.line_removal import removes_lines

WORDS = {Verb.CREATE: "create", Verb.EDIT: "change", Verb.DELETE: "delete", Verb.RENAME: "rename"}
"""The words for each verb in the messages that an agent reads."""
MOST_AT_ONCE = 500
"""The most memories in one query."""


class Change(NamedTuple):
    """A change that an agent wants to make. `memory` is None for a new memory.

    `new_text` returns the memory's text after the change. It is called only if a rule needs this text.
    """

    path: str
    memory: StoredMemory | None = None
    new_text: Callable[[], str] | None = None


def require(store: Tree, verb: Verb, changes: Sequence[Change]) -> PathRule | None:
    """Return the rule by which the acting agent may only propose the changes; None if they may be made.

    Raises RefusedByRule if a rule refuses one of the changes, or if the session may make no further proposal. Raises
    ToolError if there are too many paths for these rules.
    """
    if store.path_rules == NO_RULES or store.act.actor.kind != ActorKind.KEY:
        return None
    opened = cache(lambda: proposing.opened_before(store))
    holds_back = None
    for change, decision in _decisions(store, verb, changes):
        if decision.rule is not None and decision.is_refusal:
            raise RefusedByRule(results.refused_by_rule(change.path, WORDS[verb], decision.rule.reason))
        if decision.rule is not None and decision.is_proposal:
            if decision.rule.most is not None and opened() >= decision.rule.most:
                raise _too_often(store, WORDS[verb], change.path, opened(), decision.rule)
            holds_back = holds_back or decision.rule
    return holds_back


def _too_often(store: Tree, verb: str, path: str, opened: int, rule: PathRule) -> RefusedByRule:
    said = results.proposed_too_often(path, verb, opened, rule.reason, has_session=store.act.session is not None)
    return RefusedByRule(said)


def allow(store: Tree, verb: Verb, changes: Sequence[Change]) -> bool:
    """Return whether the rules of the store explicitly allow the acting agent each of the changes.

    A change that no rule mentions is not allowed. Raises ToolError if there are too many paths for these rules.
    """
    rules = [decision.rule for _, decision in _decisions(store, verb, changes)]
    return all(rule is not None and rule.effect is Effect.ALLOW for rule in rules)


def _decisions(store: Tree, verb: Verb, changes: Sequence[Change]) -> Iterator[tuple[Change, Decision]]:
    actor = store.act.actor
    rules, doer = path_rules.of_text(store.path_rules, day_of(store.at)), Doer(str(actor.id), str(actor.author_id))
    decide = rules.decide if len(changes) == 1 else ManyPaths(rules).decide
    met = _Met(store, doer, verb, changes, rules)
    for change in changes:
        try:
            yield change, decide(doer, verb, change.path, met.by(change))
        except TooMuchWork:
            raise ToolError(results.too_many_for_rules(len(changes))) from None


def hidden_place(path: str) -> RefusedByRule:
    """Return the refusal of a new memory whose path a hidden memory takes or blocks.

    Its words are those of the refusal by a path rule, so it does not reveal the hidden memory.
    """
    return RefusedByRule(results.refused_by_rule(path, WORDS[Verb.CREATE], ""))


def require_may_move(store: Tree, moves: Sequence[tuple[StoredMemory, str]]) -> PathRule | None:
    """Check moves (memory, new path) as `require` does: return the rule by which they may only be proposed, or None."""
    leaving = require(store, Verb.RENAME, [Change(memory.path, memory) for memory, _ in moves])
    return require(store, Verb.CREATE, [Change(path, memory) for memory, path in moves]) or leaving


def of_memories(store_id: str, memories: Sequence[str], conditions: Met) -> dict[Condition, set[str]]:
    """Return {condition: ids of the memories that meet it}, for the conditions that depend only on the memory."""
    met: dict[Condition, set[str]] = {}
    for condition in set(_OF_MEMORIES) & conditions:
        parts = (memories[at : at + MOST_AT_ONCE] for at in range(0, len(memories), MOST_AT_ONCE))
        met[condition] = {memory for part in parts for memory in _OF_MEMORIES[condition](store_id, part)}
    return met


def of_agent(store_id: str, agent: str, conditions: Met) -> Met:
    """Return the given conditions that an agent (id) meets in a store, whatever the agent changes."""
    if Condition.NEW_AGENT not in conditions:
        return NONE_MET
    return NONE_MET if lists.has_merged(store_id, agent) else frozenset({Condition.NEW_AGENT})


_OF_MEMORIES = {Condition.BY_PERSON: lists.of_people, Condition.HAS_FINDING: lists.with_open_finding}


class _Met:
    """Finds out which conditions of path rules the changes of one act meet."""

    def __init__(self, store: Tree, doer: Doer, verb: Verb, changes: Sequence[Change], rules: PathRules) -> None:
        conditions = rules.conditions_for(doer, verb)
        self._verb, self._conditions = verb, conditions
        self._of_agent = of_agent(store.store, doer.agent, conditions)
        self._rules, self._protected = rules, ProtectedLines(store.store)
        self._of_memories = of_memories(store.store, [one.memory.id for one in changes if one.memory], conditions)

    def by(self, change: Change) -> Met:
        if not self._conditions:
            return NONE_MET
        met: set[Condition | Lines] = set(self._of_agent)
        if change.memory is not None:
            met |= {condition for condition, ids in self._of_memories.items() if change.memory.id in ids}
            met |= {lines for lines in self._rules.protected_lines(change.path) if self._changes(lines, change)}
        if Condition.REMOVES_LINES in self._conditions and self._removes_lines(change):
            met.add(Condition.REMOVES_LINES)
        return frozenset(met)

    def _changes(self, lines: Lines, change: Change) -> bool:
        if change.memory is None or self._verb is Verb.CREATE or lines not in self._conditions:
            return False
        text, numbers = self._protected.in_newest(change.memory.id, lines)
        if numbers is None:
            return self._verb is Verb.RENAME or self._removes_lines(change)
        if self._verb is not Verb.EDIT or change.new_text is None:
            return bool(numbers)
        return not are_kept(text, change.new_text(), numbers, self._protected.work)

    def _removes_lines(self, change: Change) -> bool:
        if self._verb is not Verb.EDIT or change.memory is None or change.new_text is None:
            return self._verb in (Verb.DELETE, Verb.EDIT)
        return removes_lines(change.memory.content, change.new_text())
