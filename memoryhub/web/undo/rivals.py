"""Memories of a plan that compete for a path: some choices put two at the same path, or one under the other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.history.apply_plan import Change
from memoryhub.pure.protocol import paths

MOST = 3
"""The most rivals of one memory that a page lists."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A memory that competes with another memory of the plan for the path `path`. `name` is the rival's own path."""

    name: str
    path: str


def rivals_of(changes: Sequence[Change]) -> Mapping[str, Sequence[Rival]]:
    """Return {memory: its rivals}, the memories with which it competes for a path."""
    names = {change.memory: change.path for change in changes}
    wanted: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        for choice in change.choices:
            if path := change.chosen(choice).path:
                wanted[path].add(change.memory)
    found: dict[str, dict[str, Rival]] = defaultdict(dict)
    for path, memories in wanted.items():
        for place in (path, *paths.ancestors(path)[1:]):
            for memory, other in _pairs(memories, wanted.get(place, ())):
                found[memory].setdefault(other, Rival(names[other], place))
                found[other].setdefault(memory, Rival(names[memory], place))
    return {memory: list(of_memory.values())[:MOST] for memory, of_memory in found.items()}


def _pairs(memories: Iterable[str], others: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((memory, other) for memory in sorted(memories) for other in sorted(others) if memory != other)
