"""Whether some lines of a text are kept as they are in a changed text, and where they are in later texts."""

from collections.abc import Sequence
from itertools import pairwise

from memoryhub.text.carried import still_there
from memoryhub.text.changed_lines import Work, changes, ended


def are_kept(old: str, new: str, lines: Sequence[int]) -> bool:
    """Return whether no line of `lines` (numbers of the old text, from 1, in order) is changed or removed in the new
    text, and no new line separates them."""
    later = list(still_there(lines, changes(ended(old), ended(new), Work())))
    return len(later) == len(lines) and len({now - then for then, now in zip(lines, later, strict=True)}) <= 1


def where(old: str, new: str, lines: Sequence[int]) -> list[int]:
    """Return where the lines are in the new text. Where some of them were changed, the lines in their place count."""
    areas = changes(ended(old), ended(new), Work())
    found = set(still_there(lines, areas))
    for first, end, new_first, new_end in areas:
        if any(first < line <= end for line in lines):
            found.update(range(new_first + 1, new_end + 1))
    return sorted(found)


def where_in_last(texts: Sequence[str], lines: Sequence[int]) -> list[int]:
    """Return where the lines of the first text are in the last one: followed through the texts between, and if none is
    left on this way (somebody removed them and brought them back), by comparing the first text with the last one."""
    now = lines
    for old, new in pairwise(texts):
        now = where(old, new, now)
    if now:
        return list(now)
    return list(still_there(lines, changes(ended(texts[0]), ended(texts[-1]), Work())))
