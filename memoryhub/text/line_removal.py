"""Removing whole lines from a text."""

from collections.abc import Iterable
from typing import NamedTuple


class Removed(NamedTuple):
    """A text without some of its lines, and the numbers, from 1, that these lines had."""

    text: str
    lines: tuple[int, ...]


def without_lines(text: str, places: Iterable[tuple[int, int]]) -> Removed:
    """Remove every line that one of the places, as (start, end) in code points, is in or reaches into."""
    lines = text.split("\n")
    gone: set[int] = set()
    for start, end in places:
        first = text.count("\n", 0, start)
        gone.update(range(first, first + text.count("\n", start, max(start, end - 1)) + 1))
    kept = [line for number, line in enumerate(lines) if number not in gone]
    return Removed("\n".join(kept), tuple(number + 1 for number in sorted(gone)))
