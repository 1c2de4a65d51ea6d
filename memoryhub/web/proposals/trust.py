"""The path rule by which the agent of a proposal would not have had to ask."""

from posixpath import commonpath, dirname
from urllib.parse import urlencode

from memoryhub.path_rules import Verb
from memoryhub.web.proposals.rows import Row

_VERBS = {
    "created": {Verb.CREATE}, "modified": {Verb.EDIT}, "deleted": {Verb.DELETE}, "moved": {Verb.RENAME, Verb.CREATE},
    "moved_modified": {Verb.RENAME, Verb.CREATE, Verb.EDIT},
}  # fmt: skip
"""{kind of a proposed change: what the rule has to allow}"""


def place_of(row: Row) -> str:
    """Return the pattern for all memories of a proposal: the path of the only one, or their directory.

    Return "" if they have no directory in common but the root.
    """
    paths = {path for outline in row.outlines for path in (outline.path, outline.to) if path}
    if len(paths) == 1:
        return paths.pop()
    directory = commonpath([dirname(path) for path in paths]) if paths else "/"
    return "" if directory == "/" else f"{directory}/"


def query_of(row: Row) -> str:
    """Return the query with which the form for path rules opens with such a rule, or "" if there is no place for it."""
    place = place_of(row)
    verbs = set().union(*(_VERBS[outline.kind] for outline in row.outlines)) if place else set()
    given = [("allow", place), ("who", row.proposal.agent), *(("verb", verb.value) for verb in Verb if verb in verbs)]
    return urlencode(given) if verbs else ""
