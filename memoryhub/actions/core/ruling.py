"""What a store's rules say of sensitive text, worked out once for each pair of the store's and the hub's own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from memoryhub import sensitive
from memoryhub.sensitive import KINDS, MARKS, Action, Span
from memoryhub.text import novelty

SHORTEST_NUMBER = 6
"""No number with fewer digits is anybody's."""


Spans = tuple[list[Span], list[Span]]
"""Places of a text that are kept out, and places that are flagged."""


@dataclass(frozen=True, slots=True, eq=False)
class Ruling:
    """The action for each kind. `kept_out` are masked or blocked: nothing of them is stored anywhere.

    `marks` are texts of which every value that is kept out has one (null: there are no such texts).
    """

    actions: Mapping[str, Action]
    watched: frozenset[str]
    flagged: frozenset[str]
    kept_out: frozenset[str]
    marks: tuple[str, ...] | None

    @property
    def is_idle(self) -> bool:
        """Whether every kind is off."""
        return not self.watched

    def masked(self, text: str) -> str:
        """A text that is stored beside the memories (a note, an answer, a call's input), without what is kept out."""
        return sensitive.mask(text, self.spans(text)) if self.kept_out else text

    def spans(self, text: str) -> list[Span]:
        """What of a text is kept out."""
        if self.marks is not None and not any(mark in text for mark in self.marks):
            return []
        return novelty.find(text, self.kept_out)

    def masked_in(self, value: Any) -> Any:
        """The same JSON value with every string, name and number in it masked."""
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


Looked = Mapping[tuple[Ruling, str], Spans]
"""What was found in texts by some rules, which are one object as long as they are the same."""


@lru_cache(maxsize=256)
def ruling(store_rules: str, hub_rules: str | None) -> Ruling:
    """The rules of a store whose own, and the hub's, are these JSON texts: `{kind: action}`."""
    own, hubs = _read(store_rules), _read(hub_rules)
    actions = {name: own.get(name) or hubs.get(name) or kind.default for name, kind in KINDS.items()}
    flagged = frozenset(name for name, action in actions.items() if action == Action.FLAG)
    kept_out = frozenset(name for name, action in actions.items() if action in (Action.MASK, Action.BLOCK))
    marked = [MARKS.get(kind) for kind in sorted(kept_out)]
    marks = None if None in marked else tuple(mark for of_kind in marked if of_kind for mark in of_kind)
    return Ruling(MappingProxyType(actions), flagged | kept_out, flagged, kept_out, marks)


def actions_of(store_rules: str, hub_rules: str | None) -> Mapping[str, Action]:
    """The action for each kind: the store's, else the hub's, else the kind's default."""
    return ruling(store_rules, hub_rules).actions


def _read(rules: str | None) -> dict[str, Action]:
    """What is a rule in a JSON text; kinds and actions that there are no more are passed over."""
    try:
        found = json.loads(rules) if rules else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    known = {action.value for action in Action}
    return {name: Action(action) for name, action in found.items() if isinstance(action, str) and action in known}
