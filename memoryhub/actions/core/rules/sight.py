"""Finds out which memories an agent sees in a memory store whose path rules hide some memories from the agent."""

from datetime import UTC, date, datetime

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.core.sql import Statement
from memoryhub.models.audit import ActorKind
from memoryhub.pure import path_rules
from memoryhub.pure.path_rules import NO_RULES, Decision, Doer, PathRules
from memoryhub.pure.path_rules.many import ManyPaths, TooMuchWork
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

FEW = 4
"""The number of paths that are decided one by one: for a few paths, this takes less time than preparing for many."""

MOST_WORK = 400_000
"""The most comparisons of names in one call, which holds the memory store for that time: some tenths of a second."""

_RULES = Statement("select path_rules from memoryhub_memorystore where id = %s")


class Sight:
    """Decides which paths an agent sees. For the agent, memories at all other paths do not exist."""

    def __init__(self, rules: PathRules, doer: Doer) -> None:
        self._rules, self._doer = rules, doer
        self._known: dict[str, bool] = {}
        self._many: ManyPaths | None = None

    def sees(self, path: str) -> bool:
        """Return whether the agent sees a memory at a path. Raises ToolError if deciding would take too long."""
        if path not in self._known:
            self._known[path] = not self._decision(path).hides
        return self._known[path]

    def _decision(self, path: str) -> Decision:
        if len(self._known) < FEW:
            return self._rules.sight(self._doer, path)
        self._many = self._many or ManyPaths(self._rules, MOST_WORK)
        try:
            return self._many.sight(self._doer, path)
        except TooMuchWork:
            raise ToolError(results.too_many_to_see()) from None

    def hides_at(self, store_id: str, path: str) -> bool:
        """Return whether a hidden memory can be at a path, under it or above it.

        Call it only if the agent sees nothing at these places.
        """
        if not self.sees(path) or sql.one(sql.PATH_TAKEN, store_id, path) or sql.one(sql.DIRECTORY_AT, store_id, path):
            return True
        above = paths.ancestors(path)[1:]
        return bool(above and sql.memories_at(store_id, above))

    def leaves_some(self, store_id: str, path: str, count: int) -> bool:
        """Return whether a directory has more memories than the agent sees in it (`count`)."""
        return len(sql.rows(sql.MEMORIES_UNDER, store_id, *paths.subtree(path))) > count


def sees(sight: Sight | None, *paths: str | None) -> bool:
    """Return whether an actor with this sight (None: sees everything) sees memories at all of these paths.

    A path of None was redacted. Only an actor who sees everything sees a memory at it.
    """
    return sight is None or all(path is not None and sight.sees(path) for path in paths)


def sight_of(rules: str, actor: Actor, at: datetime) -> Sight | None:
    """Return what an actor sees under a store's path rules (JSON text); None if the actor sees everything."""
    if rules == NO_RULES or actor.kind != ActorKind.KEY:
        return None
    prepared, doer = path_rules.of_text(rules, day_of(at)), Doer(str(actor.id), str(actor.author_id))
    return Sight(prepared, doer) if prepared.hides_from(doer) else None


def sight_in(store_id: str, actor: Actor, at: datetime) -> Sight | None:
    """Return what an actor sees in a store that is not locked, or None if the actor sees everything."""
    sql.connect()
    row = sql.one(_RULES, store_id)
    return None if row is None else sight_of(row[0], actor, at)


def day_of(at: datetime) -> date:
    """Return the day of a moment in UTC, because path rules end at the end of a day in UTC."""
    return at.astimezone(UTC).date()
