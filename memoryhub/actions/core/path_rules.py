"""Path rules: what agents may change. Every verb checks them before its first write; people are never refused."""

from collections.abc import Iterable, Sequence

from memoryhub import path_rules
from memoryhub.actions.core.tree import Tree
from memoryhub.models.audit import ActorKind
from memoryhub.path_rules import NO_RULES, Doer, Verb
from memoryhub.protocol import results
from memoryhub.protocol.errors import RefusedByRule


def require(store: Tree, verb: Verb, paths: Iterable[str]) -> None:
    """Raise RefusedByRule for the first path at which a rule of the store refuses the verb to the acting agent."""
    actor = store.act.actor
    if store.path_rules == NO_RULES or actor.kind != ActorKind.KEY:
        return
    rules, doer = path_rules.of_text(store.path_rules), Doer(str(actor.id), str(actor.author_id))
    for path in paths:
        decision = rules.decide(doer, verb, path)
        if decision.rule is not None and decision.is_refusal:
            raise RefusedByRule(results.refused_by_rule(path, verb.value, decision.rule.reason))


def require_may_move(store: Tree, moves: Sequence[tuple[str, str]]) -> None:
    """Raise RefusedByRule if a rule refuses one of the moves (path, new path) to the acting agent."""
    require(store, Verb.RENAME, [path for path, _ in moves])
    require(store, Verb.CREATE, [path for _, path in moves])
