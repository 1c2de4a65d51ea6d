"""Removing whole lines from a text, and whether a change of a text removes lines."""

from collections.abc import Collection, Iterable
from typing import NamedTuple


class Removed(NamedTuple):
    """A text without some of its lines, and the former numbers of these lines, from 1."""

    text: str
    lines: tuple[int, ...]


def without_lines(text: str, places: Iterable[tuple[int, int]]) -> Removed:
    """Return the text without the lines that overlap one of the places. A place is (start, end) in code points."""
    gone: set[int] = set()
    for start, end in places:
        first = text.count("\n", 0, start) + 1
        gone.update(range(first, first + text.count("\n", start, max(start, end - 1)) + 1))
    return Removed(without_numbers(text, gone), tuple(sorted(gone)))


def without_numbers(text: str, numbers: Collection[int]) -> str:
    """Return the text without the lines whose numbers, from 1, are in `numbers`."""
    return "\n".join(line for number, line in enumerate(text.split("\n"), 1) if number not in numbers)


def removes_lines(old: str, new: str) -> bool:
    """Return whether a line of the old text is changed, moved or missing in the new text.

    A change that only inserts lines removes none. The newline at the end of a text does not count.
    """
    later = iter(new.removesuffix("\n").split("\n"))
    return bool(old) and not all(line in later for line in old.removesuffix("\n").split("\n"))
