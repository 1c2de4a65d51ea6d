"""Compares two texts with bounded work, and returns the rows to show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Literal

from memoryhub.pure.text.matching import Area, Budget, Work, common_runs, cost_of_matching, differing, size_of, slid

MATCHING_PAIRS = 200_000
"""How many pairs of equal lines one comparison examines, and how many pairs of equal words in all its lines
together."""

PAIRING_WORK = 400_000
"""How many words are compared to find which removed line became which added line."""

REQUEST_WORK = 600_000
"""The work of all comparisons in one request: enough for three rewritten texts of 100 KB, or for dozens of edits."""

SIMILAR = 0.4
"""Two lines whose likeness is not above this number count as wholly changed: their words are not marked."""

Kind = Literal["same", "added", "removed", "changed"]
Where = tuple[int, int, int]
"""Equal lines: old lines [first, end), and the first new line."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line. It is marked if the line on the other side does not have it."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A line of one side, or a pair of lines. Numbers count from one.

    If a side has no line, its number and its spans are None.
    """

    kind: Kind
    old_number: int | None
    new_number: int | None
    old: tuple[Span, ...] | None
    new: tuple[Span, ...] | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Equal lines that are not shown: the old and the new number of the first of them, and how many there are."""

    old_first: int
    new_first: int
    count: int


@dataclass(frozen=True, slots=True)
class Diff:
    """A comparison of two texts, ready to be shown.

    `changes` counts the places that differ; `added` and `removed` count lines. `bounded`: a stretch is shown as wholly
    removed and added, because matching its lines was too much work. `old_no_newline` and `new_no_newline`: the last
    line of that text has no line feed. `labels` are words to show beside a line: {text of the line: words}.
    """

    parts: tuple[Row | Gap, ...]
    added: int
    removed: int
    changes: int
    bounded: bool
    identical: bool
    old_lines: int
    new_lines: int
    old_no_newline: bool
    new_no_newline: bool
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def compare(
    old: str,
    new: str,
    *,
    ignore_whitespace: bool = False,
    context: int | None = 3,
    work: Work | None = None,
    areas: Sequence[Area] | None = None,
) -> Diff:
    """Return the comparison of two texts, with `context` equal lines around each change (None: with all equal lines).

    Lines end at line feeds only. `ignore_whitespace` ignores all white space, as `git diff -w` does. The cost of
    matching lines and words is taken from `work`. `areas` are the areas in which the texts differ, if these are known.
    """
    texts = _Texts(old.split("\n"), new.split("\n"), ignore_whitespace)
    old_no_newline, new_no_newline = _drop_end(texts.old), _drop_end(texts.new)
    budget = Budget(MATCHING_PAIRS)
    changes = _changes(texts, budget, old_no_newline, new_no_newline) if areas is None else areas
    parts = tuple(_parts(texts, changes, context))
    if work is not None:
        left = budget.left + texts.pairing.left + texts.words.left
        work.spend((2 * MATCHING_PAIRS + PAIRING_WORK - left) // 4)
    return Diff(
        parts=parts,
        added=sum(area[3] - area[2] for area in changes),
        removed=sum(area[1] - area[0] for area in changes),
        changes=len(changes),
        bounded=budget.passed,
        identical=old == new,
        old_lines=len(texts.old),
        new_lines=len(texts.new),
        old_no_newline=old_no_newline,
        new_no_newline=new_no_newline,
    )


def opened(work: Work, old: str, new: str, *, ignore_whitespace: bool = False, context: int | None = 3) -> Diff | None:
    """Return the comparison of two texts.

    Return None if too little of the request's `work` is left: the page then shows the comparison only when a person
    opens it.
    """
    if not work.opens(cost(old, new)):
        return None
    return compare(old, new, ignore_whitespace=ignore_whitespace, context=context, work=work)


def cost(old: str, new: str) -> int:
    """Return the estimated cost of a comparison of two texts, without the cost of examining pairs of lines."""
    characters, lines = size_of((old, new))
    return characters // 2 + 4 * lines


def counts(old: str, new: str) -> tuple[int, int]:
    """Return how many lines were added and how many removed, as `compare` counts them."""
    return _counted(old, new, Budget(MATCHING_PAIRS))


def counts_within(work: Work, old: str, new: str) -> tuple[int, int] | None:
    """Return how many lines were added and how many removed; None if too little of the request's `work` is left."""
    if not work.opens(cost_of_matching(old, new)):
        return None
    budget = Budget(MATCHING_PAIRS)
    found = _counted(old, new, budget)
    work.spend((MATCHING_PAIRS - budget.left) // 4)
    return found


def _counted(old: str, new: str, budget: Budget) -> tuple[int, int]:
    texts = _Texts(old.split("\n"), new.split("\n"), ignore_whitespace=False)
    changes = _changes(texts, budget, _drop_end(texts.old), _drop_end(texts.new))
    return sum(area[3] - area[2] for area in changes), sum(area[1] - area[0] for area in changes)


def split(diff: Diff) -> Iterator[Row | Gap]:
    """Yield the rows for a view side by side. A changed row has an old and a new line."""
    return iter(diff.parts)


def unified(diff: Diff) -> Iterator[Row | Gap]:
    """Yield the rows for a view in one column.

    The removed lines of a change come first, then the added lines; no row is `changed`.
    """
    added: list[Row] = []
    for part in diff.parts:
        if isinstance(part, Gap) or part.kind == "same":
            yield from added
            added = []
            yield part
            continue
        if part.new is not None:
            added.append(Row("added", None, part.new_number, None, part.new))
        if part.old is not None:
            yield Row("removed", part.old_number, None, part.old, None)
    yield from added


def shortened(diff: Diff, most: int) -> tuple[Diff, int]:
    """Return a comparison with only the first `most` rows of its view in one column, and the number of rows that were
    left out."""
    rows = tuple(unified(diff))
    return replace(diff, parts=rows[:most]), max(0, len(rows) - most)


@dataclass(slots=True)
class _Texts:
    """The lines of both texts, and two budgets: for pairing similar lines, and for comparing their words."""

    old: list[str]
    new: list[str]
    ignore_whitespace: bool
    pairing: Budget = field(default_factory=lambda: Budget(PAIRING_WORK))
    words: Budget = field(default_factory=lambda: Budget(MATCHING_PAIRS))


def _drop_end(lines: list[str]) -> bool:
    """Drop the empty string that follows a final line feed. Return True if the text does not end with a line feed."""
    if lines[-1]:
        return True
    lines.pop()
    return False


def _changes(texts: _Texts, budget: Budget, old_no_newline: bool, new_no_newline: bool) -> list[Area]:
    """Return the areas that differ, in order.

    If only one text lacks the final line feed, its last line differs from each line of the other text, unless white
    space is ignored.
    """
    old, new = texts.old, texts.new
    if texts.ignore_whitespace:
        old, new = [_without_space(line) for line in old], [_without_space(line) for line in new]
    elif old_no_newline and not new_no_newline:
        old = [*old[:-1], old[-1] + "\n"]
    elif new_no_newline and not old_no_newline:
        new = [*new[:-1], new[-1] + "\n"]
    return differing(slid(common_runs(old, new, budget), old, new), len(old), len(new))


def _without_space(line: str) -> str:
    return line.translate(_SPACE)


_SPACE = dict.fromkeys(map(ord, " \t\v\f\r"))


# Rows that show equal stretches and changes.


def _parts(texts: _Texts, changes: Sequence[Area], context: int | None) -> Iterator[Row | Gap]:
    if not changes and context is not None:
        return
    i = j = 0
    for number, area in enumerate(changes):
        yield from _equal(texts, (i, area[0], j), context if number else 0, context)
        yield from _changed(texts, area)
        i, j = area[1], area[3]
    yield from _equal(texts, (i, len(texts.old), j), context, 0)


def _equal(texts: _Texts, where: Where, top: int | None, bottom: int | None) -> Iterator[Row | Gap]:
    """Yield equal lines: the first `top`, a gap, and the last `bottom`.

    If `top` or `bottom` is None, yield all lines. Instead of a gap of one line, yield this line.
    """
    i, i_end, j = where
    count = i_end - i
    hidden = 0 if top is None or bottom is None else count - top - bottom
    if top is None or hidden < 2:
        top, hidden = count, 0
    yield from (_same(texts, i + step, j + step) for step in range(top))
    if hidden:
        yield Gap(i + top + 1, j + top + 1, hidden)
    yield from (_same(texts, i + step, j + step) for step in range(top + hidden, count))


def _same(texts: _Texts, i: int, j: int) -> Row:
    old, new = texts.old[i], texts.new[j]
    spans = _plain(old)
    return Row("same", i + 1, j + 1, spans, spans if old == new else _plain(new))


def _plain(line: str) -> tuple[Span, ...]:
    return (Span(line, False),) if line else ()


def _changed(texts: _Texts, area: Area) -> Iterator[Row]:
    """Yield the rows of a change. Similar lines are paired; the lines between these pairs are put side by side, in
    order."""
    i, i_end, j, j_end = area
    old, new = [_Words(line) for line in texts.old[i:i_end]], [_Words(line) for line in texts.new[j:j_end]]
    x = y = 0
    for next_x, next_y in [*_became(old, new, texts.pairing), (len(old), len(new))]:
        for left, right in zip_longest(range(i + x, i + next_x), range(j + y, j + next_y)):
            yield _unmarked(texts, left, right)
        if next_x < len(old) and next_y < len(new):
            marked_old, marked_new = _marked(old[next_x].all, new[next_y].all, texts)
            yield Row("changed", i + next_x + 1, j + next_y + 1, marked_old, marked_new)
        x, y = next_x + 1, next_y + 1


def _unmarked(texts: _Texts, i: int | None, j: int | None) -> Row:
    """Return a row without marked words, for an old line, a new line, or both."""
    old = None if i is None else _plain(texts.old[i])
    new = None if j is None else _plain(texts.new[j])
    kind: Kind = "added" if i is None else "removed" if j is None else "changed"
    return Row(kind, None if i is None else i + 1, None if j is None else j + 1, old, new)


# Words: pairs of similar lines, and the changes within each.

_EXTENDS = (  # Combining marks, variation selectors, the joiner and skin tones belong to the character before them.
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903\u093a-\u094f"
    "\u0981-\u0983\u09bc-\u09cd\u0a3c-\u0a4d\u0abc-\u0acd\u0b3c-\u0b4d\u0bbe-\u0bcd\u0c3e-\u0c4d\u0cbc-\u0ccd\u0d3e-\u0d4d"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
)
_UNSPACED = (  # Thai, Lao, Myanmar, Khmer, kana, Han: no spaces between words, so each character counts as one.
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TOKEN = re.compile(
    rf"[{_UNSPACED}][{_EXTENDS}]*|(?:[^\W\d_{_UNSPACED}][{_EXTENDS}]*)+|\d+|[ \t]+|.[{_EXTENDS}]*", re.DOTALL
)


class _Words:
    """A line as words, numbers, blanks and other characters. `letters` is the total length of its distinct words."""

    __slots__ = ("all", "distinct", "letters")

    def __init__(self, line: str) -> None:
        self.all: list[str] = _TOKEN.findall(line)
        self.distinct = frozenset(word for word in self.all if not word.isspace())
        self.letters = sum(map(len, self.distinct))

    def likeness(self, other: "_Words") -> float:
        """Return how alike two lines are, from 0 to 1: the share of their letters that are in words which both lines
        have."""
        letters = self.letters + other.letters
        return 2 * sum(map(len, self.distinct & other.distinct)) / letters if letters else 0


def _became(old: Sequence[_Words], new: Sequence[_Words], budget: Budget) -> list[tuple[int, int]]:
    """Return the best pairing of similar lines as pairs (old, new), in order.

    If this is too much work, similar lines at the same place are paired.
    """
    if len(old) == 1 == len(new) or not budget.take(len(new) * sum(10 + len(words.distinct) for words in old)):
        together = range(min(len(old), len(new)))
        return [(step, step) for step in together if old[step].likeness(new[step]) > SIMILAR]
    likeness = [[left.likeness(right) for right in new] for left in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]  # best[x][y]: of the lines from x and y on
    for x in range(len(old) - 1, -1, -1):
        for y in range(len(new) - 1, -1, -1):
            paired = best[x + 1][y + 1] + likeness[x][y] if likeness[x][y] > SIMILAR else 0.0
            best[x][y] = max(paired, best[x + 1][y], best[x][y + 1])
    return _path(best)


def _path(best: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the line pairs (old, new) of the best pairing.

    `best[x][y]` is the likeness of all pairs together in the best pairing of the lines from x and y on.
    """
    pairs = []
    x = y = 0
    while best[x][y]:
        if best[x][y] == best[x + 1][y]:
            x += 1
        elif best[x][y] == best[x][y + 1]:
            y += 1
        else:
            pairs.append((x, y))
            x, y = x + 1, y + 1
    return pairs


def _marked(old: Sequence[str], new: Sequence[str], texts: _Texts) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the spans of two lines, marked where their words differ. Blanks between two marked words are marked
    too."""
    kept_old, kept_new = [False] * len(old), [False] * len(new)
    for i, j, count in common_runs(old, new, texts.words):
        inside = i and j and i + count < len(old) and j + count < len(new)
        if inside and not "".join(old[i : i + count]).strip():
            continue
        kept_old[i : i + count] = kept_new[j : j + count] = [True] * count
    return _spans(old, kept_old, texts), _spans(new, kept_new, texts)


def _spans(words: Sequence[str], kept: Sequence[bool], texts: _Texts) -> tuple[Span, ...]:
    if texts.ignore_whitespace:
        kept = [keep or word.isspace() for keep, word in zip(kept, words, strict=True)]
    groups = groupby(zip(kept, words, strict=True), key=itemgetter(0))
    return tuple(Span("".join(word for _, word in group), not keep) for keep, group in groups)
