"""Finds the other forms in which a name is written: its words in another order, and letters such as ü written as ue."""

import re
from collections.abc import Iterable, Iterator, Sequence

from memoryhub.pure.text.spellings import Spellings, in_line, loose

MOST_ORDERED = 3
"""The most words of a text that are also searched in another order: a longer text is no name."""

_BETWEEN = re.compile(r"[\s.,_-]+")
_APART = r"[\s.,_-]{0,3}"
_VOWELS = {"a": "(?:a[ae]?+|æ)", "o": "(?:oe?|œ)", "u": "ue?"}
"""The `?+` after `a` is possessive: otherwise a word with many `a` would be tried in exponentially many ways."""

_WRITTEN = re.compile("a[ae]|æ|oe|œ|ue|[aou]")
_AS = {"æ": "a", "œ": "o"}


class NameForms:
    """The other forms of the given texts.

    These letters are alike: `a`, `aa`, `ae`, `ä`, `å` and `æ`; `o`, `oe`, `ö`, `ø` and `œ`; `u`, `ue` and `ü`.
    A name of two or three words is also searched in other orders, because the family name may come first or last: with
    the first word moved to the end, with the last word moved to the start, and backwards.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._same = Spellings(texts)
        words = [_BETWEEN.split(folded.strip(" .,_-\n")) for folded in sorted(self._same.folded)]
        self._forms = [(_pattern(some), [_unchanging(word) for word in some]) for some in words if any(some)]

    def within(self, text: str) -> set[str]:
        """Return the forms that occur in `text`, as they are written there. Spellings of the given texts themselves are
        left out."""
        folded = loose(text)
        patterns = [pattern for pattern, parts in self._forms if all(part in folded for part in parts)]
        if not any(pattern.search(folded) for pattern in patterns):
            return set()
        lines = [line for line in text.split("\n") if any(pattern.search(loose(line)) for pattern in patterns)]
        found = {spelling for line in lines for pattern in patterns for spelling in in_line(pattern, line)}
        return {spelling for spelling in found if not self._same.within(spelling)}


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches some folded words in each of their `_orders`. It matches whole words; the last word
    may have an additional s."""
    orders = "|".join(_APART.join(map(_alike, order)) for order in _orders(words))
    return re.compile(rf"(?<![^\W_])(?:{orders})(?=s?(?![^\W_]))")


def _orders(words: Sequence[str]) -> Iterator[Sequence[str]]:
    yield words
    if 1 < len(words) <= MOST_ORDERED and all(word.isalpha() for word in words):
        yield words[::-1]
        if len(words) == MOST_ORDERED:
            yield from ((words[-1], *words[:-1]), (*words[1:], words[0]))


def _alike(word: str) -> str:
    """Return a pattern that matches a folded word with each way of writing its vowels."""
    consonants = [re.escape(part) for part in _WRITTEN.split(word)]
    vowels = [_VOWELS[_AS.get(written[0], written[0])] for written in _WRITTEN.findall(word)]
    return "".join(part + vowel for part, vowel in zip(consonants, [*vowels, ""], strict=True))


def _unchanging(word: str) -> str:
    """Return the longest part of a folded word that is the same in all its forms."""
    return max(_WRITTEN.split(word), key=len)
