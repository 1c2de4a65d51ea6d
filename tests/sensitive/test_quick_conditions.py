"""The quick conditions, by which most searches are skipped, hide no finding."""

import re
from collections.abc import Iterator
from importlib import import_module
from random import Random

import pytest

from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import find, identity, keys, personal, poison
from memoryhub.pure.sensitive.text import SHORTEST_LONG_WORD, Text
from memoryhub.pure.text import visible
from tests.sensitive.test_find import FRESH, FRESH_HARMLESS, HARMLESS, SENSITIVE
from tests.support.long import LONG, tried

instructions = import_module("memoryhub.pure.sensitive.instructions")  # the package has functions of these names
passwords = import_module("memoryhub.pure.sensitive.passwords")
LINES = [
    *HARMLESS,
    *FRESH_HARMLESS,
    *(one.line for kinds in (SENSITIVE, FRESH) for few in kinds.values() for one in few),
]
PIECES = (*"aZ09 .:-_=@/%\\#<\"'\n\t\x01", *"\u212aİßあ\u200b\ud800", "pass", "[redacted:card]")


def mutations(count: int) -> Iterator[str]:
    """Each line, then lines that were changed at a few places, joined, or cut."""
    yield from LINES
    chance = Random(7)
    for _ in range(count):
        text = chance.choice(("\n", " ", "")).join(chance.choices(LINES, k=chance.choice((1, 1, 1, 2, 5))))
        for _ in range(chance.choice((0, 1, 1, 2, 4))):
            start = chance.randrange(len(text) + 1)
            end = min(len(text), start + chance.choice((0, 0, 1, 1, 8)))
            new = chance.choice((chance.choice(PIECES), text[start:end].swapcase(), text[start:end] * 2, ""))
            text = text[:start] + new + text[end:]
        yield text


@pytest.fixture
def without_conditions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each detector searches each text, and looks for each keyword in it."""
    every = [("", [("", pattern, sort) for _, pattern, sort in passwords._KEYWORDS])]
    shapes = "|".join([*keys._SHAPES, *(before + mark for before, mark in keys._FROM_MARK)])
    shaped = re.compile(f"(?<![A-Za-z0-9])(?:{shapes}){keys._END}", re.ASCII)
    with monkeypatch.context() as changed:
        changed.setattr(sensitive, "_GATES", {})
        changed.setattr(identity, "_BY_NAME", [(frozenset(), *named) for _, *named in identity._BY_NAME])
        changed.setattr(poison, "_HOLES", ("",))
        changed.setattr(personal, "_GROUPS_BROKEN", personal._ANY_BROKEN)
        changed.setattr(personal, "_LINE_END_IN_GROUPS", re.compile(personal._AFTER_DIGIT))
        changed.setattr(personal, "_ANY_LINE_END", re.compile(personal._AFTER_DIGIT))
        changed.setattr(personal, "_IBAN", re.compile("[0-9][0-9](?<=[a-z]{2}[0-9]{2})(?:[ \\-\xa0]?[a-z0-9]){11,30}"))
        changed.setattr(passwords, "_MAY_CONNECT", re.compile(""))
        changed.setattr(passwords, "_PUBLIC_ENDINGS", ("",))
        changed.setattr(sensitive, "may_have_instructions", lambda text: True)
        changed.setattr(keys, "_shaped", lambda text: [match.span() for match in shaped.finditer(text.text)])
        changed.setattr(keys, "_MARKED", ())
        changed.setattr(instructions, "_BEGINNING_CJK", re.compile("(?s)."))
        changed.setattr(passwords, "_ALL", every)
        changed.setattr(passwords, "_IN_ASCII", every)
        sensitive._wanted.cache_clear()
        yield
    sensitive._wanted.cache_clear()


@pytest.fixture
def with_conditions() -> list[tuple[str, list[sensitive.Span]]]:
    return [(text, find(text)) for text in mutations(100_000 if LONG else 500)]


def test_a_text_has_the_same_findings_without_them(
    with_conditions: list[tuple[str, list[sensitive.Span]]], without_conditions: None
) -> None:
    assert sum(bool(found) for _, found in with_conditions) > 500
    for text, found in with_conditions:
        assert find(text) == found, text


HIDDEN = (
    *"a1#\n ", "\ufe0f", "\ufe0e", "\u20e3", "\U0001f3f4", "\U000e0067", "\U000e0062", "\U000e007f", "👩", "💻",
    "\u200d", "\u200c", "\u200b", "\U0001f3fb", "漢", "\ufe00", "\U000e0100", "\u0645", "\u0915", "\u094d", "ก",
    "\ufeff", "\u1820", "\u180b", "\u034f", "\u2764", "\u200d👩",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)  # fmt: skip


def test_the_invisible_characters_that_are_fine_are_those_that_pages_show_as_they_are() -> None:
    run = re.compile(
        rf"{visible.FINE}|\A\ufeff(?!\ufeff)|(?<={poison._WITHOUT_SPACES})\u200b+|(?P<run>{poison._UNSEEN}+)"
    )
    chance = Random(3)
    found, cases = 0, tried(200_000)
    for _ in range(cases):
        text = "".join(
            chance.choices(chance.sample(HIDDEN, chance.choice((3, 5, 8, len(HIDDEN)))), k=chance.randrange(14))
        )
        spans = [match.span() for match in run.finditer(text) if match["run"]]
        kept = [(start, _before_break(text, start, end)) for start, end in spans]
        assert [*poison.invisible(Text(text))] == [place for place in kept if place[0] < place[1]], ascii(text)
        found += bool(spans)
    assert found > cases // 2


def _before_break(text: str, start: int, end: int) -> int:
    """The end of a run, without the places before a letter of Thai where a line may break."""
    return start + len(text[start:end].rstrip("\u200b")) if poison._BREAK_BEFORE.match(text, end) else end


def test_what_they_ask_about_a_text_is_true_of_it() -> None:
    for text in map(Text, mutations(tried(10_000))):
        lines = [line for line in text.low.split("\n") if re.search("[0-9]", line)]
        assert text.digits == len(re.findall("[0-9]", text.text)) == sum(map(text.low.count, "0123456789"))
        assert text.digit_lines == "\n".join(lines)
        words = [match.span() for match in re.finditer(r"[!-~]+", text.text)]
        assert text.long_words == [(start, end) for start, end in words if end - start >= SHORTEST_LONG_WORD]
