"""The rules for sensitive text: which action (such as mask or block) applies to each kind of sensitive value."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import KINDS, MARKS, Action, Span, TooMuch
from memoryhub.pure.text import novelty

SHORTEST_NUMBER = 6
"""Numbers with fewer characters are never masked."""


Spans = tuple[list[Span], list[Span]]
"""The spans of a text that are kept out, and the spans that are flagged."""


@dataclass(frozen=True, slots=True, eq=False)
class Ruling:
    """The action for each kind. Values of the kinds in `kept_out` are masked or blocked, and stored nowhere.

    Each of these values contains at least one of `marks`, so a text without marks needs no search. If `marks` is None,
    every text is searched. `watched` are the kinds in `flagged` or `kept_out`.
    """

    actions: Mapping[str, Action]
    watched: frozenset[str]
    flagged: frozenset[str]
    kept_out: frozenset[str]
    marks: tuple[str, ...] | None

    @property
    def is_idle(self) -> bool:
        """Return whether every kind is off."""
        return not self.watched

    def masked(self, text: str) -> str:
        """Return a text with its kept-out values masked. Use it for notes, answers and inputs, not for memories."""
        return sensitive.mask(text, self.spans(text)) if self.kept_out else text

    def spans(self, text: str) -> list[Span]:
        """Return where a text has values of the kinds in `kept_out`."""
        if self.marks is not None and not any(mark in text for mark in self.marks):
            return []
        return novelty.find(text, self.kept_out)

    def masked_in(self, value: Any) -> Any:
        """Return a JSON value with the kept-out values masked in every string, name and long number."""
        if isinstance(value, str):
            return self.masked(value)
        if isinstance(value, int | float) and len(str(value)) >= SHORTEST_NUMBER:
            masked = self.masked(str(value))
            return value if masked == str(value) else masked
        if isinstance(value, Mapping):
            return {self.masked(name): self.masked_in(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.masked_in(item) for item in value]
        return value


Looked = Mapping[tuple[Ruling, str | None, str], Spans | TooMuch]
"""{(ruling, old text or None, new text): what the ruling found in the new text}. Equal rules have one Ruling object."""


class Clean(NamedTuple):
    """The texts and paths in which `rules` found nothing.

    `texts` has pairs of SHA-256 digests: of the memory's earlier text (None: no text), and of the new text.
    """

    rules: Ruling | None
    texts: frozenset[tuple[str | None, str]]
    paths: frozenset[str]


NOTHING_CLEAN = Clean(None, frozenset(), frozenset())


@lru_cache(maxsize=256)
def ruling(store_rules: str, hub_rules: str | None) -> Ruling:
    """Return the ruling for the rules of a store and of the hub (None: no rules).

    Both are JSON texts: `{kind: action}`.
    """
    own, hubs = _read(store_rules), _read(hub_rules)
    actions = {name: own.get(name) or hubs.get(name) or kind.default for name, kind in KINDS.items()}
    flagged = frozenset(name for name, action in actions.items() if action == Action.FLAG)
    kept_out = frozenset(name for name, action in actions.items() if action in (Action.MASK, Action.BLOCK))
    marked = [MARKS.get(kind) for kind in sorted(kept_out)]
    marks = None if None in marked else tuple(mark for of_kind in marked if of_kind for mark in of_kind)
    return Ruling(MappingProxyType(actions), flagged | kept_out, flagged, kept_out, marks)


def actions_of(store_rules: str, hub_rules: str | None) -> Mapping[str, Action]:
    """Return {kind: action}: the store's action, or else the hub's, or else the kind's default.

    `hub_rules` is None if the hub has no rules.
    """
    return ruling(store_rules, hub_rules).actions


def _read(rules: str | None) -> dict[str, Action]:
    """Return {kind: action} from a JSON text, without unknown actions; empty for None or an invalid text."""
    try:
        found = json.loads(rules) if rules else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    known = {action.value for action in Action}
    return {name: Action(action) for name, action in found.items() if isinstance(action, str) and action in known}
