"""Finds other spellings of a text: other case, width, accents or Unicode form, invisible characters, or other
spaces."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate

_ASIDE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ŧ": "t"})
"""Letters with a stroke, which no normal form decomposes."""

_UNSEEN = frozenset({"Mn", "Me", "Cf"})
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
    """Return the form by which spellings are compared. Each character is folded by itself, so the ends of lines
    stay."""
    return text.lower() if text.isascii() else text.translate(_LOOSE)


class Spellings:
    """All spellings of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self._same = frozenset(loose(text) for text in self.texts)
        parts = (_pattern(folded) for folded in sorted(self._same, key=len, reverse=True))
        self._pattern = re.compile("|".join(part for part in parts if part) or "(?!)")

    def is_same(self, spelling: str) -> bool:
        """Return whether a spelling has the loose form of one of the texts. Otherwise the spaces between its words
        differ too."""
        return loose(spelling) in self._same

    def within(self, text: str) -> set[str]:
        """Return every spelling of the texts that occurs in a text, as it is written there."""
        folded = loose(text)
        if len(folded) == len(text) and text.isascii():
            return {text[slice(*match.span())] for match in self._pattern.finditer(folded)}
        return {spelling for line in self._lines(text, folded) for spelling in self._in_line(line)}

    def _lines(self, text: str, folded: str) -> Iterator[str]:
        """Yield the lines that have a spelling. If one of the texts has several lines, yield the whole text."""
        if not self._pattern.search(folded):
            return
        if any("\n" in spelt for spelt in self._same):
            yield text
            return
        for line, folded_line in zip(text.split("\n"), folded.split("\n"), strict=True):
            if self._pattern.search(folded_line):
                yield line

    def _in_line(self, line: str) -> Iterator[str]:
        """Yield the spellings in a line, extended to whole characters with their marks."""
        parts = [loose(character) for character in line]
        ends = list(accumulate(map(len, parts)))
        for match in self._pattern.finditer("".join(parts)):
            first = next(at for at, end in enumerate(ends) if end > match.start())
            last = next(at for at, end in enumerate(ends) if end >= match.end())
            while last + 1 < len(line) and unicodedata.category(line[last + 1]) in {"Mn", "Me"}:
                last += 1
            yield line[first : last + 1]


def _pattern(folded: str) -> str:
    """Return a pattern that matches a folded text, or its words joined or separated in other ways."""
    words = [re.escape(word) for word in _BETWEEN.split(folded) if word]
    return f"{re.escape(folded)}|{_SPACES.join(words)}" if words else ""
