"""Whether a changed text keeps some lines of the old text, and where these lines are in later texts."""

from collections.abc import Sequence
from itertools import pairwise

from memoryhub.pure.text.changed_lines import Work, changes, ended
from memoryhub.pure.text.line_sets import LineSet, Moves


def are_kept(old: str, new: str, lines: Sequence[int], work: Work) -> bool:
    """Return whether the new text has these lines of the old text (numbers from 1, in order) unchanged and together.

    Also False if it takes too much work to find out.
    """
    later = list(_moves(old, new, work).after(LineSet.of(lines)))
    return len(later) == len(lines) and len({now - then for then, now in zip(lines, later, strict=True)}) <= 1


def where(old: str, new: str, lines: Sequence[int], work: Work) -> list[int]:
    """Return the numbers that `lines` (numbers of the old text, from 1) have in the new text.

    New lines that replaced any of `lines` are included. If too little work is left, unrelated lines may be included.
    """
    areas = changes(ended(old), ended(new), work)
    before = LineSet.of(lines)
    changed = [(j + 1, j_end) for i, i_end, j, j_end in areas if j < j_end and before.within(i + 1, i_end)]
    return list(Moves(areas).after(before).union(LineSet.of_runs(changed)))


def where_in_last(texts: Sequence[str], lines: Sequence[int], work: Work) -> list[int]:
    """Return the numbers that `lines` of the first text have in the last text.

    The lines are followed through the texts between. If none of them is left on this way, the first text is compared
    with the last text.
    """
    now = lines
    for old, new in pairwise(texts):
        now = where(old, new, now, work)
    if now:
        return list(now)
    return list(_moves(texts[0], texts[-1], work).after(LineSet.of(lines)))


def _moves(old: str, new: str, work: Work) -> Moves:
    return Moves(changes(ended(old), ended(new), work))
