"""Folds texts for search, and maps the positions found back to the original text.

A text is folded by NFKC and then by case, so that `ＡＢＣ`, `abc` and `Abc` are equal. Folding can change the length of
a text (`ß` becomes `ss`), but not its lines. A match always covers whole characters of the original, with their marks.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from string import ascii_lowercase

PIECE = 512
"""How many characters are normalised at once. The work grows with the square of the number of marks in a row."""

MOST_COUNTED = 100
"""The most lines with a word that are counted in one text."""

LONGEST_LINE, BEFORE_FOUND = 320, 80
"""Of a longer line, how many characters are shown, and how many of these are before the first match."""

# Characters that join the previous letter without being marks: vowel signs of Indian scripts, and parts of Hangul.
_JOINING = frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
    "\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
) | frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))

_BESIDE = frozenset(ascii_lowercase)

Span = tuple[int, int]
"""Columns of a line, from 0: the first one, and the one after the last."""


class Whole(str):
    """A folded word that is found only where no English letter is directly before or after it."""

    __slots__ = ()


def find(folded: str, word: str, start: int = 0) -> int:
    """Return the position of a folded word in a folded text, from `start` on; -1 if it is not there.

    A Whole is found only as a whole word.
    """
    at = folded.find(word, start)
    if not isinstance(word, Whole):
        return at
    while at >= 0 and (
        folded[max(at - 1, 0) : at] in _BESIDE or folded[at + len(word) : at + len(word) + 1] in _BESIDE
    ):
        at = folded.find(word, at + 1)
    return at


def fold(text: str) -> str:
    """Return the folded form of a text. Folding a text gives the same as folding each of its lines."""
    if text.isascii():
        return text.lower()
    if unicodedata.is_normalized("NFKC", text):
        return text.casefold()
    return "\n".join(["".join(map(_folded, pieces(line))) for line in text.split("\n")])


def pieces(line: str) -> Iterator[str]:
    """Yield a line in pieces that can be folded separately.

    Where possible, they are cut before a character that does not join the one before it.
    """
    start = 0
    while len(line) - start > PIECE:
        end = next((end for end in range(start + PIECE, start, -1) if begins(line[end])), start + PIECE)
        yield line[start:end]
        start = end
    if start < len(line):
        yield line[start:]


def begins(character: str) -> bool:
    """Return whether a character begins a piece: it never joins the character before it. Marks, for example, do join
    it."""
    if character < "\u0300":
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(first) == 0 and first not in _JOINING


def spans(line: str, words: Sequence[str], most: int = 100) -> list[Span]:
    """Return the columns at which a line has the folded words: at most `most` matches, in order.

    Matches that touch or overlap are joined.
    """
    folded = fold(line)
    found = sorted(place for word in words for place in _places(folded, word, most))
    return joined(_originals(line, folded, found[:most]))


def joined(found: Sequence[Span]) -> list[Span]:
    """Return spans in order, with those that touch or overlap joined."""
    whole: list[Span] = []
    for start, end in sorted(found):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def found_lines(text: str, words: Sequence[str]) -> tuple[list[list[int]], bool]:
    """Return two values: for each word the lines that contain it, counted from 0; and whether counting stopped
    early."""
    folded, over = fold(text), False
    numbers = []
    for word in words:
        lines = list(_lines_with(folded, word))
        over = over or len(lines) > MOST_COUNTED
        numbers.append(lines[:MOST_COUNTED])
    return numbers, over


def _lines_with(folded: str, word: str) -> Iterator[int]:
    at, counted, line = find(folded, word), 0, 0
    for _ in range(MOST_COUNTED + 1):
        if at < 0:
            return
        line += folded.count("\n", counted, at)
        yield line
        end = folded.find("\n", at)
        if end < 0:
            return
        counted, at = end, find(folded, word, end)


def chosen_lines(numbers: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return the numbers of at most `most` matching lines to show, in order: the first match of each word, then the
    first other lines."""
    firsts = [of_word[0] for of_word in numbers if of_word]
    rest = sorted({number for of_word in numbers for number in of_word})
    return sorted(list(dict.fromkeys([*firsts, *rest]))[:most])


def window(line: str, found: Sequence[Span]) -> Span:
    """Return the part of a line to show, as columns: at most LONGEST_LINE characters, around the first match."""
    if len(line) <= LONGEST_LINE:
        return 0, len(line)
    start = max(0, found[0][0] - BEFORE_FOUND) if found else 0
    return start, min(len(line), start + LONGEST_LINE)


def _folded(piece: str) -> str:
    return unicodedata.normalize("NFKC", piece).casefold()


def _places(folded: str, word: str, most: int) -> Iterator[Span]:
    """Yield the matches of a word in the folded text, without overlaps."""
    at = find(folded, word) if word else -1
    while at >= 0 and most > 0:
        yield at, at + len(word)
        at, most = find(folded, word, at + len(word)), most - 1


def _originals(line: str, folded: str, found: Sequence[Span]) -> list[Span]:
    """Return `found`, which are columns in the folded form of a line, as columns of the original line."""
    # Folding the case never shortens a line: with its length unchanged, every character is in its place.
    if not found or (len(folded) == len(line) and (line.isascii() or unicodedata.is_normalized("NFKC", line))):
        return list(found)
    places = _Places.of(line)
    return [(places.start(start), places.end(end)) for start, end in found]


@dataclass(slots=True)
class _Places:
    """Where the pieces of a line begin, in the line and in its folded form. A piece is examined further only when it is
    needed."""

    parts: list[str]
    starts: list[int]
    folded_starts: list[int]
    inner: dict[int, tuple[list[int], list[int]]]

    @classmethod
    def of(cls, line: str) -> "_Places":
        parts = list(pieces(line))
        starts = list(accumulate(map(len, parts), initial=0))
        folded_starts = list(accumulate((len(_folded(part)) for part in parts), initial=0))
        return cls(parts, starts, folded_starts, {})

    def start(self, position: int) -> int:
        """Return the column of the character whose folded form contains `position`."""
        piece, within = self._piece(position)
        originals, folded = self._inner(piece)
        return self.starts[piece] + originals[bisect_right(folded, within) - 1]

    def end(self, position: int) -> int:
        """Return the column after the character whose folded form ends at `position`."""
        piece, within = self._piece(position - 1)
        originals, folded = self._inner(piece)
        return self.starts[piece] + originals[bisect_right(folded, within)]

    def _piece(self, position: int) -> tuple[int, int]:
        piece = bisect_right(self.folded_starts, position) - 1
        return piece, position - self.folded_starts[piece]

    def _inner(self, piece: int) -> tuple[list[int], list[int]]:
        """Return where each character of a piece (with its marks) begins: in the piece, and in its folded form.

        The first list ends with the length of the piece, and the second with the length of its folded form.
        """
        if piece not in self.inner:
            part = self.parts[piece]
            originals = [at for at, character in enumerate(part) if at == 0 or begins(character)] + [len(part)]
            sizes = (len(_folded(part[a:b])) for a, b in pairwise(originals))
            self.inner[piece] = (originals, list(accumulate(sizes, initial=0)))
        return self.inner[piece]
