"""The path rules that would have allowed an agent to make the changes of a proposal without asking."""

from collections.abc import Sequence
from posixpath import commonpath, dirname
from urllib.parse import urlencode

from memoryhub.pure.path_rules import Effect, PathRule, Verb
from memoryhub.web.proposals.rows import Row

_VERBS = {
    "created": {Verb.CREATE}, "modified": {Verb.EDIT}, "deleted": {Verb.DELETE}, "moved": {Verb.RENAME, Verb.CREATE},
    "moved_modified": {Verb.RENAME, Verb.CREATE, Verb.EDIT},
}  # fmt: skip
"""{kind of a proposed change: the verbs that a rule must allow for it}"""
MOST_PLACES = 3


def places_of(rows: Sequence[Row]) -> list[str]:
    """Return the patterns for the memories of some proposals.

    The memories under one top-level directory share a pattern: the deepest directory that contains all of them. A
    memory directly in the root has its own path as its pattern. If the proposals name only one path, this path is the
    only pattern. Return [] if there would be more than MOST_PLACES patterns.
    """
    paths = sorted({path for row in rows for outline in row.outlines for path in (outline.path, outline.to) if path})
    if len(paths) == 1:
        return paths
    together: dict[str, list[str]] = {}
    for path in paths:
        above = dirname(path)
        together.setdefault(path if above == "/" else above.split("/")[1], []).append(above)
    places = [name if name.startswith("/") else f"{commonpath(above)}/" for name, above in together.items()]
    return places if len(places) <= MOST_PLACES else []


def rules_of(*rows: Row) -> list[PathRule]:
    """Return rules that allow the agent of these proposals the same changes, one for each pattern of `places_of`.

    Return [] if there is no pattern, if a pattern contains `*`, or if the hub does not know the agent.
    """
    places = places_of(rows)
    if not rows[0].proposal.agent or any("*" in place for place in places):
        return []
    verbs = frozenset(verb for row in rows for outline in row.outlines for verb in _VERBS[outline.kind])
    return [PathRule(Effect.ALLOW, place, verbs, rows[0].proposal.agent) for place in places]


def query_of(rules: Sequence[PathRule]) -> str:
    """Return the query that fills the form of path rules with `rules`. They must allow the same verbs to the same
    agent."""
    first = rules[0]
    verbs = [("verb", verb.value) for verb in Verb if verb in first.verbs]
    return urlencode([*(("allow", rule.pattern) for rule in rules), ("who", first.who), *verbs])
