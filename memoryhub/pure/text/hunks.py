"""Hunks: the areas of lines in which one text differs from another. A text can also be made with only some of the
hunks."""

from collections.abc import Collection, Iterator, Sequence

from memoryhub.pure.text.matching import Area
from memoryhub.pure.text.merging import changes, lines_of

MOST_TRIED = 100_000
"""The most lines that are compared to find out which hunks a text has."""


def hunks(old: str, new: str) -> list[Area]:
    """Return the areas of lines in which two texts differ, in order. The same texts always have the same hunks."""
    end = _missing_end(old, new)
    return changes(lines_of(old + end), lines_of(new + end))


def with_some(old: str, new: str, left_out: Collection[int]) -> str:
    """Return the old text with the hunks of the new text, except those whose numbers (from 1) are in `left_out`."""
    missing = _missing_end(old, new)
    before, after = lines_of(old + missing), lines_of(new + missing)
    pieces: list[str] = []
    i = 0
    for number, (first, end, start, stop) in enumerate(changes(before, after), 1):
        pieces += before[i:first]
        pieces += before[first:end] if number in left_out else after[start:stop]
        i = end
    return "".join([*pieces, *before[i:]]).removesuffix(missing)


def had(old: str, new: str, made: str) -> list[bool] | None:
    """Return for each hunk of two texts whether the text `made` has it.

    `made` must be the old text with some of the hunks. Return None if it is not, or if it takes too long to find out.
    """
    missing = _missing_end(old, new)
    before, after, lines = (lines_of(text + missing) for text in (old, new, made))
    left, kept = MOST_TRIED, 0
    reached: dict[int, tuple[bool, ...]] = {0: ()}
    for first, end, start, stop in [*changes(before, after), (len(before), len(before), len(after), len(after))]:
        steps = [(before[kept:first] + after[start:stop], True), (before[kept:first] + before[first:end], False)]
        left -= sum(len(step) for step, _ in steps) * len(reached)
        if left < 0:
            return None
        reached = dict(_further(reached, steps, lines))
        kept = end
    return list(reached[len(lines)][:-1]) if len(lines) in reached else None


def _missing_end(old: str, new: str) -> str:
    """Return the line feed to add to both texts if both lack one at their end; otherwise "".

    Without this line feed, the last line of a text would differ from the same line in the middle of the other text.
    """
    return "\n" if old and new and not old.endswith("\n") and not new.endswith("\n") else ""


def _further(
    reached: dict[int, tuple[bool, ...]], steps: Sequence[tuple[list[str], bool]], lines: Sequence[str]
) -> Iterator[tuple[int, tuple[bool, ...]]]:
    """Yield (position after the step, decisions) for each step that is possible at a reached position.

    A step is possible if its own lines are the next of `lines`. `reached` is {position in `lines` before the step:
    decisions so far}. `steps` has (lines, decision) of each step.
    """
    for place, taken in reached.items():
        for step, takes in steps:
            if lines[place : place + len(step)] == step:
                yield place + len(step), (*taken, takes)
