"""Removing whole lines from a text."""

from collections.abc import Iterable
from typing import NamedTuple


class Removed(NamedTuple):
    """A text without some of its lines, and the former numbers of these lines, from 1."""

    text: str
    lines: tuple[int, ...]


def without_lines(text: str, places: Iterable[tuple[int, int]]) -> Removed:
    """Return the text without the lines that overlap one of the places. A place is (start, end) in code points."""
    lines = text.split("\n")
    gone: set[int] = set()
    for start, end in places:
        first = text.count("\n", 0, start)
        gone.update(range(first, first + text.count("\n", start, max(start, end - 1)) + 1))
    kept = [line for number, line in enumerate(lines) if number not in gone]
    return Removed("\n".join(kept), tuple(number + 1 for number in sorted(gone)))
