"""Path rules: what agents may change. Every verb checks them before its first write; people are never refused."""

from collections.abc import Sequence

from memoryhub import path_rules
from memoryhub.actions.core.tree import Tree
from memoryhub.models.audit import ActorKind
from memoryhub.path_rules import NO_RULES, Doer, PathRule, Verb
from memoryhub.path_rules.many import ManyPaths, TooMuchWork
from memoryhub.protocol import results
from memoryhub.protocol.errors import RefusedByRule, ToolError

WORDS = {Verb.CREATE: "create", Verb.EDIT: "change", Verb.DELETE: "delete", Verb.RENAME: "rename"}
"""The words that an agent reads."""


def require(store: Tree, verb: Verb, paths: Sequence[str]) -> PathRule | None:
    """Return the rule by which the acting agent may only propose the change, or None if the change may be made.

    Raise RefusedByRule for the first path at which a rule of the store refuses the verb to the agent, and ToolError if
    there are too many paths for these rules.
    """
    actor = store.act.actor
    if store.path_rules == NO_RULES or actor.kind != ActorKind.KEY:
        return None
    rules, doer = path_rules.of_text(store.path_rules), Doer(str(actor.id), str(actor.author_id))
    decide = rules.decide if len(paths) == 1 else ManyPaths(rules).decide
    holds_back = None
    for path in paths:
        try:
            decision = decide(doer, verb, path)
        except TooMuchWork:
            raise ToolError(results.too_many_for_rules(len(paths))) from None
        if decision.rule is not None and decision.is_refusal:
            raise RefusedByRule(results.refused_by_rule(path, WORDS[verb], decision.rule.reason))
        if decision.is_proposal:
            holds_back = holds_back or decision.rule
    return holds_back


def require_may_move(store: Tree, moves: Sequence[tuple[str, str]]) -> PathRule | None:
    """Return the rule by which the moves (path, new path) may only be proposed, or None, as `require` does."""
    leaving = require(store, Verb.RENAME, [path for path, _ in moves])
    return require(store, Verb.CREATE, [path for _, path in moves]) or leaving
