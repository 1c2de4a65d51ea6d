"""New findings in a text that replaced another: sensitive values on lines that the old text did not have."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import inf

from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import Span
from memoryhub.pure.sensitive.text import Place, TooMuch

LONG = 8_000
SPANNING = {"private_key": LONG, "instructions": 80, "password": 80}
"""Kinds whose findings can span several lines, and how many characters around a change are searched for them."""

_PART_OF_KEY = re.compile(r"KEY|--|[A-Za-z0-9+/=]{16}")
"""A pattern that every line of a private key matches."""

_MASK = re.compile(r"\[redacted:[a-z_]{1,40}\]")


class Novelty:
    """The new lines of a text: one stretch that contains all lines which the old text does not have.

    Without an old text, it contains all lines. Whole lines are searched, so that a value is found even if two edits
    together made it.
    """

    def __init__(
        self,
        old: str | None,
        new: str,
        written: tuple[int, int] | None = None,
        *,
        steps: float = inf,
        pause: Callable[[], None] | None = None,
    ) -> None:
        """Prepare the search in the text `new`, which replaced the text `old`. `written` is the span of the change in
        the new text (None: unknown).

        Each search takes at most `steps` steps, and calls `pause` now and then: see `sensitive.look`.
        """
        self.old, self.new = old, new
        self._steps, self._pause = steps, pause
        if old is None:
            self.start, self.end = 0, len(new)
        else:
            self.start, self.end = _lines_around(new, *written) if written else _changed(old, new)
        self._old_lines: frozenset[str] | None = None
        self._looked: dict[Place, dict[str, list[Place]]] = {}

    def has_any(self, kinds: frozenset[str]) -> bool:
        """Return whether the new lines may have findings of these kinds. This is faster than `found`."""
        return any(self._look(_with_feed(*place), of) for place, of in self._places(kinds))

    def found(self, kinds: frozenset[str]) -> list[Span]:
        """Return the findings of these kinds in the new lines, ordered by start."""
        found: list[Span] = []
        for place, of in self._places(kinds):
            spans = [span for span in self._between(*place, of) if span.start < self.end and span.end > self.start]
            found = sorted([*apart(found, spans), *spans])
        return [span for span in found if self._is_new(span)] if self.old else found

    def _places(self, kinds: frozenset[str]) -> Iterator[tuple[tuple[int, int], frozenset[str]]]:
        """Yield (stretch, kinds): each stretch of the new text to search, and the kinds to search for in this
        stretch."""
        for margin, of in _by_margin(kinds) if self.old else ((0, kinds),):
            if margin < LONG or _PART_OF_KEY.search(self.new, self.start, self.end):
                yield self._around(margin), of

    def _around(self, margin: int) -> tuple[int, int]:
        """Return the stretch of new lines, extended by `margin` characters on both sides and then to whole lines."""
        if not margin:
            return self.start, self.end
        low, high = max(0, self.start - margin), self.end + margin
        end = self.new.find("\n", high) if high < len(self.new) else -1
        return self.new.rfind("\n", 0, low) + 1, len(self.new) if end < 0 else end

    def _between(self, start: int, end: int, kinds: frozenset[str]) -> list[Span]:
        first, end = piece = _with_feed(start, end)
        looked = self._look(piece, kinds)
        if not looked:
            return []
        found = _without_masks(self.new[first:end], sensitive.joined(self.new[first:end], looked))
        return [Span(span.start + first, span.end + first, span.kind) for span in found] if first else found

    def _look(self, piece: Place, kinds: frozenset[str]) -> dict[str, list[Place]]:
        """Return {kind: its places in a piece of the new text}. Each piece is searched only once for each kind."""
        known = self._looked.setdefault(piece, {})
        if missing := kinds.difference(known):
            known |= {kind: [] for kind in missing} | sensitive.look(
                self.new[slice(*piece)], missing, self._steps, self._pause
            )
        return {kind: known[kind] for kind in kinds if known[kind]}

    def _is_new(self, span: Span) -> bool:
        """Return whether the lines of a finding are new: the old text does not have them exactly as they are now."""
        start, end = self.new.rfind("\n", 0, span.start) + 1, self.new.find("\n", max(span.start, span.end - 1))
        lines = self.new[start : len(self.new) if end < 0 else end]
        old = self.old or ""
        if "\n" in lines:
            return f"\n{lines}\n" not in f"\n{old}\n"
        if self._old_lines is None:
            self._old_lines = frozenset(old.split("\n"))
        return lines not in self._old_lines


@lru_cache(maxsize=64)
def _by_margin(kinds: frozenset[str]) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return the kinds in groups: (how many characters around a change must be searched, the kinds)."""
    margins = sorted({SPANNING.get(kind, 0) for kind in kinds})
    return tuple((margin, frozenset(kind for kind in kinds if SPANNING.get(kind, 0) == margin)) for margin in margins)


def find(text: str, kinds: frozenset[str]) -> list[Span]:
    """Return the findings of these kinds in a text, except those inside the marks of masked values.

    If the text has too much that looks like a kind, the whole text is one finding of this kind.
    """
    try:
        looked = sensitive.look(text, kinds, sensitive.STEPS)
    except TooMuch as error:
        return [Span(0, len(text), error.kind)]
    return _without_masks(text, sensitive.joined(text, looked)) if looked else []


def _without_masks(text: str, found: list[Span]) -> list[Span]:
    if not found or "[redacted:" not in text:
        return found
    masks = [match.span() for match in _MASK.finditer(text)]
    return [span for span in found if not any(low <= span.start and span.end <= high for low, high in masks)]


def apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of `others`. Spans and others must be in order, without overlaps."""
    found: list[Span] = []
    position = 0
    for span in spans:
        while position < len(others) and others[position].end <= span.start:
            position += 1
        if position == len(others) or others[position].start >= span.end:
            found.append(span)
    return found


def shifted(spans: Iterable[Span], text: str, masked: Sequence[Span]) -> list[Span]:
    """Return the spans, moved to their positions in the text after the spans `masked` are masked. No span may overlap
    one of `masked`."""
    found: list[Span] = []
    position, by = 0, 0
    for span in spans:
        while position < len(masked) and masked[position].end <= span.start:
            one = masked[position]
            by += len(sensitive.mask(text[one.start : one.end], [Span(0, one.end - one.start, one.kind)]))
            by -= one.end - one.start
            position += 1
        found.append(Span(span.start + by, span.end + by, span.kind))
    return found


def _with_feed(start: int, end: int) -> Place:
    """Return a stretch extended by the line feed before it: by this, a search sees that the text does not begin
    there."""
    return max(0, start - 1), end


def _changed(old: str, new: str) -> tuple[int, int]:
    """Return (start, end) of one stretch of whole lines of the new text that contains all its new lines."""
    most = min(len(old), len(new))
    before = _alike(most, lambda low, high: old[low:high] == new[low:high])
    o, n = len(old), len(new)
    after = _alike(most - before, lambda low, high: old[o - high : o - low] == new[n - high : n - low])
    return _lines_around(new, before, n - after)


def _lines_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch extended to whole lines."""
    following = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if following < 0 else following


def _alike(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many characters, up to `most`, are the same in two texts from one end on. It may be a few too few.

    `is_same(low, high)` says whether the characters low to high, counted from this end, are the same in both texts.
    """
    low, step = 0, most
    while step:
        if is_same(low, min(low + step, most)):
            low = min(low + step, most)
            if low == most:
                break
        step //= 2
    return low
