"""Finds other spellings of a text (in case, width, accents, spaces and the like), and near spellings, which differ in
one letter."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

_ASIDE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ŧ": "t"})
"""Letters with a stroke, which no normal form decomposes."""

_UNSEEN = frozenset({"Mn", "Me", "Cf"})
NEAR_LETTERS = 6
"""The least number of letters in a word for which near spellings are searched: a shorter word is nearly equal to too
many others."""

SHORTEST = 3
"""The least number of characters of a text to erase: a shorter one would be found everywhere."""

_SPACES = r"[\s._-]{0,3}"
_BETWEEN = re.compile(r"[\s._-]+")


class _Loose(dict[int, str]):
    """{code point: loose form of the character}. A form is computed when it is first needed."""

    def __missing__(self, code: int) -> str:
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).casefold())
        kept = "".join(letter for letter in apart if unicodedata.category(letter) not in _UNSEEN)
        self[code] = loose = kept.translate(_ASIDE) if "\n" not in kept or code == 10 else " "
        return loose


_LOOSE = _Loose()


def loose(text: str) -> str:
    """Return the form of a text by which spellings are compared.

    Each character is folded by itself, so the lines of the text stay the same.
    """
    return text.lower() if text.isascii() else text.translate(_LOOSE)


def is_long_enough(text: str) -> bool:
    """Return whether a text is long enough to be erased.

    It has at least SHORTEST characters, or two wide letters, such as the name 高橋.
    """
    text = text.strip()
    return len(text) >= SHORTEST or (
        len(text) == 2 and all(one.isalpha() and unicodedata.east_asian_width(one) == "W" for one in text)
    )


class Spellings:
    """All spellings of the given texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self.folded = frozenset(loose(text) for text in self.texts)
        parts = (_pattern(folded) for folded in sorted(self.folded, key=len, reverse=True))
        self._pattern = re.compile("|".join(part for part in parts if part) or "(?!)")

    def is_same(self, spelling: str) -> bool:
        """Return whether a spelling equals one of the texts apart from case, width, accents and the like."""
        return loose(spelling) in self.folded

    def within(self, text: str) -> set[str]:
        """Return every spelling of the given texts that occurs in `text`, as it is written there."""
        folded = loose(text)
        if len(folded) == len(text) and text.isascii():
            return {text[slice(*match.span())] for match in self._pattern.finditer(folded)}
        return {spelling for line in self._lines(text, folded) for spelling in in_line(self._pattern, line)}

    def _lines(self, text: str, folded: str) -> Iterator[str]:
        """Yield the lines of `text` that contain a spelling. If one of the given texts has several lines, yield the
        whole text."""
        if not self._pattern.search(folded):
            return
        if any("\n" in spelt for spelt in self.folded):
            yield text
            return
        for line, folded_line in zip(text.split("\n"), folded.split("\n"), strict=True):
            if self._pattern.search(folded_line):
                yield line


class NearSpellings:
    """The near spellings of the given texts: in one of their words, one letter is added, removed or replaced, or two
    neighbours are swapped."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._same = Spellings(texts)
        self._nears = [near for folded in self._same.folded for near in _nears(folded)]

    @property
    def halves(self) -> tuple[str, ...]:
        """Return halves of the words of the given texts. If a text contains a near spelling, its loose form
        contains one of these halves.

        The result is empty if no word is long enough.
        """
        return tuple(dict.fromkeys(half for near in self._nears for half in near.halves))

    def within(self, text: str) -> set[str]:
        """Return the near spellings that occur in `text` as whole words, as they are written there."""
        folded = loose(text)
        nears = [near for near in self._nears if near.may_be_in(folded)]
        if not nears:
            return set()
        lines = zip(text.split("\n"), folded.split("\n"), strict=True)
        found = {spelling for line, folded in lines for near in nears for spelling in near.in_line(line, folded)}
        return {spelling for spelling in found if not self._same.within(spelling)}


@dataclass(frozen=True, slots=True)
class _Near:
    """A word of a text, and a pattern that matches the text with a word of nearly the same length in its place.

    Another text is searched only if it contains a half of the word, or `swapped`. One different letter leaves one of
    the halves as it is. Only a swap of the two letters at the middle of the word changes both halves: `swapped` is the
    word up to these two letters, after the swap.
    """

    word: str
    pattern: re.Pattern[str]
    swapped: str

    @property
    def halves(self) -> tuple[str, str, str]:
        middle = len(self.word) // 2
        return self.word[:middle], self.word[middle:], self.swapped

    def may_be_in(self, folded: str) -> bool:
        return any(half in folded for half in self.halves)

    def in_line(self, line: str, folded: str) -> Iterator[str]:
        """Yield the near spellings in a line. Most lines have none, and are not read letter by letter."""
        if not self.may_be_in(folded) or not any(self._matches(folded)):
            return
        for spelling in in_line(self.pattern, line):
            if any(self._matches(loose(spelling))):
                yield spelling

    def _matches(self, folded: str) -> Iterator[re.Match[str]]:
        return (match for match in self.pattern.finditer(folded) if is_one_edit(self.word, match["near"]))


def _nears(folded: str) -> Iterator[_Near]:
    """Yield a _Near for each word of a folded text that has at least NEAR_LETTERS letters and no other characters."""
    words = [word for word in _BETWEEN.split(folded) if word]
    for at, word in enumerate(words):
        if len(word) < NEAR_LETTERS or not word.isalpha():
            continue
        near = rf"(?P<near>\w{{{len(word) - 1},{len(word) + 1}}})"
        parts = [*map(re.escape, words[:at]), near, *map(re.escape, words[at + 1 :])]
        middle = len(word) // 2
        swapped = word[: middle - 1] + word[middle] + word[middle - 1]
        yield _Near(word, re.compile(rf"(?<!\w){_SPACES.join(parts)}(?!\w)"), swapped)


def is_one_edit(word: str, other: str) -> bool:
    """Return whether `other` is `word` with one character added, removed or replaced, or with two neighbours
    swapped."""
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    shorter = min(len(word), len(other))
    first = next((at for at in range(shorter) if word[at] != other[at]), shorter)
    if len(word) != len(other):
        long, short = (word, other) if len(word) > len(other) else (other, word)
        return long[first + 1 :] == short[first:]
    if word[first + 1 :] == other[first + 1 :]:
        return True
    swapped = word[first + 1 : first + 2] + word[first]
    return other[first : first + 2] == swapped and word[first + 2 :] == other[first + 2 :]


def in_line(pattern: re.Pattern[str], line: str) -> Iterator[str]:
    """Yield the matches in a line, each extended to whole characters with their combining marks."""
    parts = [loose(character) for character in line]
    ends = list(accumulate(map(len, parts)))
    for match in pattern.finditer("".join(parts)):
        first, last = bisect_right(ends, match.start()), bisect_left(ends, match.end())
        while last + 1 < len(line) and unicodedata.category(line[last + 1]) in {"Mn", "Me"}:
            last += 1
        yield line[first : last + 1]


def _pattern(folded: str) -> str:
    """Return a pattern that matches a folded text, also if its words are joined or separated in other ways."""
    words = [re.escape(word) for word in _BETWEEN.split(folded) if word]
    return f"{re.escape(folded)}|{_SPACES.join(words)}" if words else ""
