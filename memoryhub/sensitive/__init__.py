"""What must not be remembered: secrets, personal data and signs of poisoning, found in a text and masked."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from memoryhub.sensitive import personal, poison, secrets
from memoryhub.sensitive.encoded import encoded
from memoryhub.sensitive.identity import FEWEST_DIGITS_OF_ID, national_ids
from memoryhub.sensitive.instructions import instructions
from memoryhub.sensitive.keys import provider_keys
from memoryhub.sensitive.passwords import passwords
from memoryhub.sensitive.text import Detector, Text


class Group(StrEnum):
    """What a kind endangers: a system, a person, or the agents that read the memory."""

    SECRET = "secret"
    PERSONAL = "personal"
    POISON = "poison"


class Action(StrEnum):
    """What a store does about a kind in new text: nothing, keep it and tell people, keep it masked, keep nothing."""

    OFF = "off"
    FLAG = "flag"
    MASK = "mask"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of sensitive text; `default` is what a store does about it that has no rule of its own."""

    name: str
    group: Group
    default: Action


class Span(NamedTuple):
    """A finding: [start, end) in code points."""

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
"""By how certain a finding is, the most certain first. A hub that nobody has set up yet flags, which loses no text and
needs no decision by an agent. Two kinds are blocked: a private key and a key of this hub are never right in a memory
and are found without doubt. E-mail addresses, telephone numbers and IP addresses are in so many good memories that
flagging them would bury the rest; who has to keep them out turns them on."""

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
    "card": lambda text: text.numbers,
    "phone": lambda text: text.numbers,
    "bidirectional": lambda text: not text.is_ascii,
    "invisible": lambda text: not text.is_ascii,
}
"""What a text must have for some kinds to be in it at all: most texts have none of it."""

MARKS = {"private_key": secrets.PRIVATE_KEY_MARKS, "hub_key": ("mh_",)}
"""Kinds of which every finding has one of these in it."""

_RANKS = {name: rank for rank, name in enumerate(_DETECTORS)}

KINDS: dict[str, Kind] = {name: Kind(name, group, action) for name, (group, action, _) in _DETECTORS.items()}


def find(text: str, kinds: Collection[str] | None = None) -> list[Span]:
    """The findings of these kinds (None: of all), by start and not overlapping; the more certain kind wins."""
    looked_at = Text(text)
    values: list[Span] = []
    signs: list[Span] = []
    for name, is_sign, gate, detector in _wanted(None if kinds is None else frozenset(kinds)):
        if gate is None or gate(looked_at):
            spans = signs if is_sign else values
            spans += [Span(start, end, name) for start, end in detector(looked_at)]
    if not signs:
        return _united(values) if values else values
    values = _united(values)
    return sorted([*values, *_outside(values, _united(signs), text)])


@lru_cache(maxsize=256)
def _wanted(kinds: frozenset[str] | None) -> list[tuple[str, bool, Callable[[Text], object] | None, Detector]]:
    """(kind, whether it is a sign of poisoning, its gate, its detector) of these kinds."""
    return [
        (name, group is Group.POISON, _GATES.get(name), detector)
        for name, (group, _, detector) in _DETECTORS.items()
        if kinds is None or name in kinds
    ]


def mask(text: str, spans: Iterable[Span]) -> str:
    """The text with `[redacted:card]` for each span, and after it as many line feeds as the span had."""
    parts: list[str] = []
    end = 0
    for span in sorted(spans):
        parts += text[end : span.start], f"[redacted:{span.kind}]", "\n" * text.count("\n", span.start, span.end)
        end = span.end
    return "".join([*parts, text[end:]])


def line_of(text: str, position: int) -> int:
    """The number of the line, from 1, on which a position is; only a line feed ends a line."""
    return text.count("\n", 0, position) + 1


def _united(spans: list[Span]) -> list[Span]:
    """Those that overlap as one of the most certain kind, so that nothing that anybody found is left out."""
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
    """What of the poison is no secret and no personal data: neither may hide the other."""
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
