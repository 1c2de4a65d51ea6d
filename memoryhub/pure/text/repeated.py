"""Lines of one text that other texts repeat: with the same words, or with nearly the same words."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memoryhub.pure.text.folding import fold

SHORTEST = 12
"""The fewest letters and digits of a line that is compared: shorter lines are alike by chance."""
FEWEST_WORDS = 5
"""The fewest words of a line that can be nearly the same as another line."""
MOST_TRIED = 8
"""The most lines with which one line of another text is compared word by word."""

_WORD = re.compile(r"\w+")


class Repeated(NamedTuple):
    """A line of the searched text (`line` is its number, from 1), and the key of the line that it repeats.

    `is_same`: both lines have the same words. Otherwise, they have nearly the same words.
    """

    key: int
    line: int
    is_same: bool


class Lines:
    """Lines to search for, each with a key that the caller chooses.

    Headings, and lines with fewer than SHORTEST letters and digits, are left out. Case, width, punctuation and the
    marks of lists do not count. Two lines of at least FEWEST_WORDS words are nearly the same if they share four fifths
    of their words.
    """

    def __init__(self, lines: Mapping[int, str]) -> None:
        self._same: dict[tuple[str, ...], int] = {}
        self._words: dict[int, Counter[str]] = {}
        self._rare: dict[str, list[int]] = defaultdict(list)
        for key, line in lines.items():
            words = tuple(_WORD.findall(fold(line)))
            if line.lstrip().startswith("#") or sum(map(len, words)) < SHORTEST or words in self._same:
                continue
            self._same[words] = key
            self._words[key] = Counter(words)
            for word in _rare(words):
                self._rare[word].append(key)

    def __bool__(self) -> bool:
        return bool(self._same)

    def found_in(self, text: str) -> Iterator[Repeated]:
        """Yield the lines of `text` that repeat one of the lines to search for."""
        folded = fold(text)
        if not any(word in folded for word in self._rare):
            return
        for number, line in enumerate(folded.split("\n"), 1):
            words = tuple(_WORD.findall(line))
            if (key := self._same.get(words)) is not None:
                yield Repeated(key, number, is_same=True)
            elif (near := self._near(words)) is not None:
                yield Repeated(near, number, is_same=False)

    def _near(self, words: Sequence[str]) -> int | None:
        """Return the key of a line to search for that has nearly the same words as `words`; None if there is none."""
        if len(words) < FEWEST_WORDS:
            return None
        keys = dict.fromkeys(key for word in words for key in self._rare.get(word, ()))
        counted = Counter(words)
        for key in [*keys][:MOST_TRIED]:
            other = self._words[key]
            both = len(words) + other.total()
            if other.total() >= FEWEST_WORDS and 10 * (counted & other).total() >= 4 * both:
                return key
        return None


def _rare(words: Sequence[str]) -> list[str]:
    """Return the longest words of a line: a third of all its words, and one more.

    Any line that is nearly the same has at least two thirds of the words, and so at least one of these.
    """
    return sorted({*words}, key=lambda word: (-len(word), word))[: len(words) // 3 + 1]
