"""Groups of similar proposals. The proposals of a group are by one agent, and only add memories in one directory."""

from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import dirname
from urllib.parse import urlencode

from memoryhub.web.proposals.rows import Row
from memoryhub.web.proposals.trust import places_of

MOST = 5
"""The most groups that a page shows."""
NUMBER = "n"
"""The name of the query parameter with the number of a proposal."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Proposals by one agent that only add memories under the directory `place`."""

    agent: str
    place: str
    rows: Sequence[Row]

    @property
    def memories(self) -> int:
        return sum(row.count for row in self.rows)

    @property
    def query(self) -> str:
        return urlencode([(NUMBER, row.proposal.number) for row in self.rows])


def alike(rows: Sequence[Row]) -> list[Alike]:
    """Return the groups of at least two proposals, the largest first; at most MOST.

    A group has the proposals of one agent that only add memories, all of them under the same top-level directory.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        roots = {dirname(outline.path).split("/")[1] for outline in row.outlines}
        if len(roots) == 1 and roots != {""} and {outline.kind for outline in row.outlines} == {"created"}:
            groups.setdefault((row.proposal.agent, roots.pop()), []).append(row)
    found = [Alike(some[0].agent, ", ".join(places_of(some)), some) for some in groups.values() if len(some) > 1]
    return sorted(found, key=lambda one: -len(one.rows))[:MOST]
