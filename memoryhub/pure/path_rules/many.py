"""Decides about many paths with the same rules. A directory's names are compared once, not once for each memory in
it."""

from collections.abc import Iterator
from typing import NamedTuple

from memoryhub.pure.path_rules import NONE_MET, Decision, Doer, Met, PathRule, PathRules, Verb
from memoryhub.pure.retention_rules.patterns import cost_of, name_matches

MOST_WORK = 5_000_000
"""The most comparisons of names with patterns, so that rules and paths of any kind take a few seconds at most.

A search for the text between two `*` counts as a comparison.
"""
MOST_DIRECTORIES = 1_000
"""The most directories that are remembered at once."""


class TooMuchWork(Exception):
    """Deciding about all these paths would take too long."""


class _Endings(NamedTuple):
    """Which rules match the names of memories directly in one directory. Rules are numbered from 1.

    `names` is {exact name: rule number}. `stars` has (rule number, name with `*`) in the order of the rules. `rest` is
    the number of the first rule that matches every name, or 0. `cost` is the cost to compare a name with all `stars`.
    """

    names: dict[str, int]
    stars: list[tuple[int, str]]
    rest: int = 0
    cost: int = 0

    def first(self, name: str) -> int:
        least = self.names.get(name, 0) or self.rest
        for number, wanted in self.stars:
            if least and number > least:
                break
            if name_matches(wanted, name):
                return number
        return least


class _Directory(NamedTuple):
    """The rules that can match a path under a directory.

    `positions` has a pair for each of these rules: the index of the rule, and the positions in its pattern that the
    directory's names reach (see `Matcher`). `endings` keeps the results that were computed before.
    """

    positions: list[tuple[int, int]]
    endings: dict[tuple[Doer, Verb | None, Met], _Endings]


class ManyPaths:
    """Makes the same decisions as PathRules, but faster for many paths.

    `decide` and `sight` raise TooMuchWork after `most_work` comparisons of names.
    """

    def __init__(self, rules: PathRules, most_work: int | None = None) -> None:
        self._rules = rules
        self._most_work = MOST_WORK if most_work is None else most_work
        self._matchers = rules.matchers
        self._directories: dict[str, _Directory] = {}
        self._work = 0

    def decide(self, doer: Doer, verb: Verb, path: str, met: Met = NONE_MET) -> Decision:
        """Return the decision about a change of the memory at `path`; the change meets the conditions `met`."""
        return self._decide(doer, verb, path, met)

    def sight(self, doer: Doer, path: str) -> Decision:
        """Return the rule that decides whether an agent or key sees memories at a path."""
        return self._decide(doer, None, path, NONE_MET)

    def _decide(self, doer: Doer, verb: Verb | None, path: str, met: Met) -> Decision:
        place, _, name = path.rpartition("/")
        directory = self._directory(place)
        endings = directory.endings.get((doer, verb, met))
        if endings is None:
            endings = directory.endings[doer, verb, met] = self._endings(directory, doer, verb, met)
        self._note(endings.cost)
        number = endings.first(name)
        return Decision(number, self._rules.rules[number - 1] if number else None)

    def _note(self, work: int) -> None:
        self._work += work
        if self._work > self._most_work:
            raise TooMuchWork

    def _directory(self, place: str) -> _Directory:
        found = self._directories.get(place)
        if found is None:
            found = _Directory(list(self._positions(place)), {})
            if len(self._directories) >= MOST_DIRECTORIES:
                self._directories.clear()
            self._directories[place] = found
        return found

    def _positions(self, place: str) -> Iterator[tuple[int, int]]:
        if not place:
            yield from ((index, matcher.start()) for index, matcher in enumerate(self._matchers))
            return
        above, _, name = place.rpartition("/")
        for index, before in self._directory(above).positions:
            self._note(self._matchers[index].cost)
            if after := self._matchers[index].after(before, name):
                yield index, after

    def _endings(self, directory: _Directory, doer: Doer, verb: Verb | None, met: Met) -> _Endings:
        found, cost = _Endings({}, []), 0
        for index, positions in directory.positions:
            rule, matcher = self._rules.rules[index], self._matchers[index]
            self._note(matcher.cost)
            if index in self._rules.over or not _applies(rule, doer, verb, met):
                continue
            if matcher.always(positions):
                return found._replace(rest=index + 1, cost=cost)
            for wanted in matcher.last_names(positions):
                if "*" in wanted:
                    found.stars.append((index + 1, wanted))
                    cost += cost_of(wanted)
                else:
                    found.names.setdefault(wanted, index + 1)
        return found._replace(cost=cost)


def _applies(rule: PathRule, doer: Doer, verb: Verb | None, met: Met) -> bool:
    """Return whether a rule is about this doer and this `verb`, and the rule's condition, if any, is met.

    If `verb` is None, return whether the rule decides what the doer sees.
    """
    if verb is None:
        return rule.decides_sight and rule.who in ("", doer.agent, doer.key)
    return rule.is_about(doer, verb) and rule.only_if in (None, *met)
