"""Finds and masks sensitive text: secrets, personal data and signs of poisoning."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import inf
from typing import NamedTuple

from memoryhub.pure.sensitive import personal, poison, secrets
from memoryhub.pure.sensitive.encoded import encoded
from memoryhub.pure.sensitive.identity import FEWEST_DIGITS_OF_ID, national_ids
from memoryhub.pure.sensitive.instructions import instructions, may_have_instructions
from memoryhub.pure.sensitive.keys import provider_keys
from memoryhub.pure.sensitive.passwords import passwords
from memoryhub.pure.sensitive.text import Detector, Place, Text, TooMuch as TooMuch


class Group(StrEnum):
    """What a kind of sensitive text endangers: a system, a person, or the agents that read the memory."""

    SECRET = "secret"
    PERSONAL = "personal"
    POISON = "poison"


class Action(StrEnum):
    """What a store does with new text of a kind: nothing, store it and record a finding, store it masked, or refuse
    it."""

    OFF = "off"
    FLAG = "flag"
    MASK = "mask"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of sensitive text. `default` is the action in a store that has no rule for this kind."""

    name: str
    group: Group
    default: Action


class Span(NamedTuple):
    """A finding of one kind in a text: the code points [start, end)."""

    start: int
    end: int
    kind: str


_DETECTORS: dict[str, tuple[Group, Action, Detector]] = {
    "private_key": (Group.SECRET, Action.BLOCK, secrets.private_keys),
    "hub_key": (Group.SECRET, Action.BLOCK, secrets.hub_keys),
    "provider_key": (Group.SECRET, Action.FLAG, provider_keys),
    "jwt": (Group.SECRET, Action.FLAG, secrets.jwts),
    "url_credentials": (Group.SECRET, Action.FLAG, secrets.url_credentials),
    "iban": (Group.PERSONAL, Action.FLAG, personal.ibans),
    "card": (Group.PERSONAL, Action.FLAG, personal.cards),
    "national_id": (Group.PERSONAL, Action.FLAG, national_ids),
    "password": (Group.SECRET, Action.FLAG, passwords),
    "email": (Group.PERSONAL, Action.OFF, personal.emails),
    "ip": (Group.PERSONAL, Action.OFF, personal.ips),
    "phone": (Group.PERSONAL, Action.OFF, personal.phones),
    "bidirectional": (Group.POISON, Action.FLAG, poison.bidirectional),
    "invisible": (Group.POISON, Action.FLAG, poison.invisible),
    "role_tag": (Group.POISON, Action.FLAG, poison.role_tags),
    "placeholder_url": (Group.POISON, Action.FLAG, poison.placeholder_urls),
    "encoded": (Group.POISON, Action.FLAG, encoded),
    "instructions": (Group.POISON, Action.FLAG, instructions),
}
"""{kind: (group, default action, detector)}, the most certain kind first.

By default most kinds are flagged: to flag a text loses nothing, and an agent need not decide anything. Private keys and
keys of this hub are refused: they never belong in a memory and are found without doubt. E-mail addresses, telephone
numbers and IP addresses are in so many useful memories that their findings would hide all others; a store that must not
hold them turns them on.
"""

_GATES: dict[str, Callable[[Text], object]] = {
    "hub_key": lambda text: "mh_" in text.text,
    "provider_key": lambda text: text.long_words,
    "jwt": lambda text: text.long_words,
    "encoded": lambda text: text.long_words,
    "url_credentials": lambda text: "@" in text.text,
    "email": lambda text: "@" in text.text,
    "placeholder_url": lambda text: "http" in text.low,
    "iban": lambda text: text.digits >= personal.FEWEST_IBAN_DIGITS or text.has_letters_and_digits,
    "national_id": lambda text: text.digits >= FEWEST_DIGITS_OF_ID,
    "card": lambda text: text.digits >= personal.SHORTEST_CARD,
    "phone": lambda text: text.numbers,
    "bidirectional": lambda text: not text.is_ascii,
    "invisible": lambda text: not text.is_ascii,
}
"""{kind: quick condition}. A text that fails the condition cannot contain the kind, so the search is skipped. Most
texts fail."""

STEPS = 38_000
"""The most steps of a search while its text is written; a step takes about a microsecond. Some parts of a search count
no steps: with them, the worst known text takes two and a half times as long as an ordinary text of 100,000
characters."""
STEPS_OF_FINDING = {Group.SECRET: 1, Group.PERSONAL: 1, Group.POISON: 3}
"""What it costs, in steps, to place a finding among the others. Signs of poisoning are compared with all other
findings."""

WORDED = frozenset({"password", "url_credentials", "email"})
"""Kinds whose values may be made of words. An order to agents is never taken for such a value: a mask would hide the
order from people, while agents still read it."""

MARKS = {"private_key": secrets.PRIVATE_KEY_MARKS, "hub_key": ("mh_",)}
"""{kind: strings}. Every finding of the kind contains one of its strings."""

_RANKS = {name: rank for rank, name in enumerate(_DETECTORS)}

KINDS: dict[str, Kind] = {name: Kind(name, group, action) for name, (group, action, _) in _DETECTORS.items()}


def find(text: str, kinds: Collection[str] | None = None) -> list[Span]:
    """Return the findings of these kinds (None: of all kinds), ordered by start and without overlaps.

    Where findings overlap, the more certain kind is kept.
    """
    found = look(text, kinds)
    return joined(text, found) if found else []


def look(
    text: str, kinds: Collection[str] | None = None, steps: float = inf, pause: Callable[[], None] | None = None
) -> dict[str, list[Place]]:
    """Return {kind: its places in the text} for each of `kinds` (None: of all kinds) that is found.

    Places of different kinds may overlap. Raises TooMuch, with the kind, if a search takes more than `steps` steps.
    `pause` is called about every `text.BETWEEN_PAUSES` steps.
    """
    looked_at = Text(text, steps, pause)
    found: dict[str, list[Place]] = {}
    for name, gate, detector in _wanted(None if kinds is None else frozenset(kinds)):
        if gate is None or gate(looked_at):
            places: list[Place] = []
            try:
                for place in detector(looked_at):
                    looked_at.spend(STEPS_OF_FINDING[KINDS[name].group])
                    places.append(place)
            except TooMuch:
                raise TooMuch(name) from None
            if places and name in WORDED:
                places = _without_orders(text, places)
            if places:
                found[name] = places
            if pause:
                looked_at.rest()
    return found


def joined(text: str, found: Mapping[str, Iterable[Place]]) -> list[Span]:
    """Return the findings of a text, ordered by start and without overlaps, from the places that `look` found."""
    values: list[Span] = []
    signs: list[Span] = []
    for name, places in found.items():
        (signs if KINDS[name].group is Group.POISON else values).extend(Span(*place, name) for place in places)
    values = _united(values)
    return sorted([*values, *_outside(values, _united(signs), text)]) if signs else values


@lru_cache(maxsize=256)
def _wanted(kinds: frozenset[str] | None) -> list[tuple[str, Callable[[Text], object] | None, Detector]]:
    """Return (name, gate, detector) for each of `kinds` (None: of all kinds).

    A detector need not run on a text for which its gate returns false.
    """
    return [
        (name, _GATES.get(name), detector)
        for name, (_, _, detector) in _DETECTORS.items()
        if kinds is None or name in kinds
    ]


def _without_orders(text: str, places: list[Place]) -> list[Place]:
    """Return those places whose values contain no instructions to a model."""
    if not may_have_instructions(Text("\n".join(text[slice(*place)] for place in places))):
        return places
    return [place for place in places if not any(True for _ in instructions(Text(text[slice(*place)])))]


def mask(text: str, spans: Iterable[Span]) -> str:
    """Return the text with a mark such as `[redacted:card]` in place of each span.

    Line feeds in a span are kept, after the mark.
    """
    parts: list[str] = []
    end = 0
    for span in sorted(spans):
        parts += text[end : span.start], f"[redacted:{span.kind}]", "\n" * text.count("\n", span.start, span.end)
        end = span.end
    return "".join([*parts, text[end:]])


def line_of(text: str, position: int) -> int:
    """Return the number, from 1, of the line in which a position lies. Only a line feed ends a line."""
    return text.count("\n", 0, position) + 1


def _united(spans: list[Span]) -> list[Span]:
    """Join overlapping spans into one span, so that no part of a finding is lost. The joined span gets the most
    certain of the kinds."""
    united: list[Span] = []
    for span in sorted(spans):
        if united and span.start < united[-1].end:
            last = united.pop()
            kind = min(last.kind, span.kind, key=_RANKS.__getitem__)
            united.append(Span(last.start, max(last.end, span.end), kind))
        else:
            united.append(span)
    return united


def _outside(values: list[Span], poison: list[Span], text: str) -> Iterator[Span]:
    """Yield those parts of the signs of poisoning (`poison`) that overlap no secret and no personal data (`values`)."""
    at = 0
    for span in poison:
        start = span.start
        while at < len(values) and values[at].end <= span.start:
            at += 1
        following = at
        while following < len(values) and values[following].start < span.end:
            if text[start : values[following].start].strip():
                yield Span(start, values[following].start, span.kind)
            start = max(start, values[following].end)
            following += 1
        if text[start : span.end].strip():
            yield Span(start, span.end, span.kind)
