"""The changed lines between two consecutive texts of a memory.

Only the part in which the texts differ is compared. This part is first cut at lines that occur once in each text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from memoryhub.pure.text.matching import Area, Budget, common_runs

LINES_SEARCHED = 2_000_000
PAIRS_SEARCHED = 1_000_000
"""How many lines, and how many pairs of equal lines, are compared one by one for one blame."""

RUNS_KEPT = 300_000
"""How many runs of lines are kept while lines are followed through versions: some 50 MB."""

SMALL = 1_500
"""Differing stretches with at most this many characters are compared line by line at once."""

NEAR, PROBE = 6, 500
"""After a difference, NEAR lines of each text are searched for a place where PROBE characters are equal again."""

STEP, CUT = 20, 200
"""The work, in lines, that finding the next change costs; and how many characters count as one line of work in the
search for a cut."""

FIRST_STEP = 2048
"""The characters that the first step compares to find how long two texts are equal. Each further step is twice as
long."""

DEEPEST = 40
TRIES = (8, 4, 12, 2, 14)
"""Where a cut of a stretch is tried, in sixteenths of its length."""

Block = tuple[int, int, int]
"""A stretch that both texts have: its start in the old text, its start in the new one, and its number of characters."""


@dataclass(slots=True)
class Work:
    """How much work comparisons may still do.

    `passed`: a stretch was counted as wholly replaced, because too little work was left.
    """

    lines: Budget = field(default_factory=lambda: Budget(LINES_SEARCHED))
    pairs: Budget = field(default_factory=lambda: Budget(PAIRS_SEARCHED))
    runs: Budget = field(default_factory=lambda: Budget(RUNS_KEPT))
    passed: bool = False

    def keeps(self, runs: int) -> bool:
        """If there is room for this many more runs of lines, use up the room and return True. Otherwise return
        False."""
        enough = self.runs.take(runs)
        self.passed = self.passed or not enough
        return enough

    def takes(self, lines: int) -> bool:
        """Use up the work for this many lines and return True. If too little work is left, use nothing and return
        False."""
        enough = self.lines.take(lines)
        self.passed = self.passed or not enough
        return enough


def ended(text: str) -> str:
    """Return the text with a line feed at its end, so that all its lines end alike; an empty text stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def changes(old: str, new: str, work: Work) -> list[Area]:
    """Return the areas in which two `ended` texts differ.

    An area is old lines [first, end) that became new lines [first, end), counted from 0.
    """
    areas: list[Area] = []
    i = j = o = n = 0  # lines and characters already passed
    for old_start, new_start, count in [*_blocks(old, new, (0, len(old), 0, len(new)), work), (len(old), len(new), 0)]:
        if (o, n) != (old_start, new_start):
            i_end, j_end = i + old.count("\n", o, old_start), j + new.count("\n", n, new_start)
            areas.append((i, i_end, j, j_end))
            i, j = i_end, j_end
        if old_start + count < len(old) or new_start + count < len(new):
            lines = old.count("\n", old_start, old_start + count)
            i, j = i + lines, j + lines
        o, n = old_start + count, new_start + count
    return areas


def _blocks(old: str, new: str, area: Area, work: Work, depth: int = 0) -> Iterator[Block]:
    """Yield the blocks of whole lines that both texts have within an area, in order."""
    o, o_end, n, n_end = area
    head, tail = _common_start(old, new, area), 0
    if head:
        yield o, n, head
        o, n = o + head, n + head
    if o < o_end and n < n_end:
        tail = _common_end(old, new, (o, o_end, n, n_end))
        o_end, n_end = o_end - tail, n_end - tail
    while o < o_end and n < n_end and work.takes(STEP):
        again = _equal_again(old, new, (o, o_end, n, n_end))
        if again is None:
            yield from _far_apart(old, new, (o, o_end, n, n_end), work, depth)
            break
        yield from _line_by_line(old, new, (o, again[0], n, again[1]), work)
        same = _common_start(old, new, (again[0], o_end, again[1], n_end), again[2])
        yield again[0], again[1], same
        o, n = again[0] + same, again[1] + same
    if tail:
        yield o_end, n_end, tail


def _equal_again(old: str, new: str, area: Area) -> Block | None:
    """Return the nearest block after a difference: PROBE characters that are equal in both texts again. None if no
    block is near."""
    o, o_end, n, n_end = area
    old_next, new_next = old.find("\n", o) + 1, new.find("\n", n) + 1
    for i, j in ((o, new_next), (old_next, n), (old_next, new_next)):  # usually one line differs
        if i + PROBE <= o_end and j + PROBE <= n_end and new.startswith(old[i : i + PROBE], j):
            return i, j, PROBE
    old_starts, new_starts = _line_starts(old, o, o_end - PROBE), _line_starts(new, n, n_end - PROBE)
    for skipped in range(1, len(old_starts) + len(new_starts) - 1):
        for i in range(max(0, skipped - len(new_starts) + 1), min(skipped + 1, len(old_starts))):
            old_start, new_start = old_starts[i], new_starts[skipped - i]
            if new.startswith(old[old_start : old_start + PROBE], new_start):
                return old_start, new_start, PROBE
    return None


def _line_starts(text: str, start: int, last: int) -> list[int]:
    """Return the offsets of at most NEAR beginnings of lines: `start`, and those that follow it up to `last`."""
    starts: list[int] = []
    while start <= last and len(starts) < NEAR:
        starts.append(start)
        start = text.find("\n", start) + 1
    return starts


def _far_apart(old: str, new: str, area: Area, work: Work, depth: int) -> Iterator[Block]:
    """Yield the common blocks of a long differing area. The area is cut in two where possible, otherwise compared line
    by line."""
    o, o_end, n, n_end = area
    small = min(o_end - o, n_end - n) <= SMALL or depth == DEEPEST
    if not small and not work.takes((o_end - o + n_end - n) // CUT):
        return
    cut = None if small else _cut(old, new, area)
    if cut is None:
        yield from _line_by_line(old, new, area, work)
        return
    yield from _blocks(old, new, (o, cut[0], n, cut[1]), work, depth + 1)
    yield cut
    yield from _blocks(old, new, (cut[0] + cut[2], o_end, cut[1] + cut[2], n_end), work, depth + 1)


def _cut(old: str, new: str, area: Area) -> Block | None:
    """Return a common block around a line that occurs once in each text; None if no such block is found.

    Once a block is fixed, some other characters can no longer be matched. A block counts only if these are not more
    than its own characters.
    """
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    for sixteenths in TRIES:
        at = o + (o_end - o) * sixteenths // 16
        start = max(old.rfind("\n", o, at) + 1, o, 1)
        end = old.find("\n", start, o_end) + 1
        place = _once(old, new, area, start, end) if end else -1
        if place < 0:
            continue
        before = _common_end(old, new, (o, start, n, place))
        after = _common_start(old, new, (end, o_end, place + end - start, n_end))
        block = (start - before, place - before, before + end - start + after)
        kept = min(block[0] - o, block[1] - n) + min(o_end - block[0], n_end - block[1])
        if most - kept <= block[2]:
            return block
    return None


def _once(old: str, new: str, area: Area, start: int, end: int) -> int:
    """Return the offset in the new text of the old line [start, end); -1 unless this line occurs once in each text."""
    o, o_end, n, n_end = area
    line = old[start - 1 : end]
    found = new.find(line, max(n - 1, 0), n_end)
    if found < 0 or new.find(line, found + 1, n_end) >= 0:
        return -1
    if old.find(line, max(o - 1, 0), start - 1 + len(line)) != start - 1 or old.find(line, start, o_end) >= 0:
        return -1
    return found + 1


def _line_by_line(old: str, new: str, area: Area, work: Work) -> Iterator[Block]:
    """Yield the blocks of the longest common subsequence of an area's lines, as far as the work allows."""
    o, o_end, n, n_end = area
    if o == o_end or n == n_end or (old.find("\n", o) == o_end - 1 and new.find("\n", n) == n_end - 1):
        return  # lines on one side only, or one on each side, which differ
    old_lines, new_lines = old[o : o_end - 1].split("\n"), new[n : n_end - 1].split("\n")
    if not work.takes(len(old_lines) + len(new_lines)):
        return
    runs = common_runs(old_lines, new_lines, work.pairs)
    work.passed = work.passed or work.pairs.passed
    if not runs:
        return
    old_at = [o, *(o + end for end in accumulate(len(line) + 1 for line in old_lines))]
    new_at = [n, *(n + end for end in accumulate(len(line) + 1 for line in new_lines))]
    for i, j, count in runs:
        yield old_at[i], new_at[j], old_at[i + count] - old_at[i]


def _common_start(old: str, new: str, area: Area, known: int = 0) -> int:
    """Return how many characters of the texts are equal at the start, in whole lines. The first `known` characters are
    known to be equal."""
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    same, step = known, FIRST_STEP
    while same + step <= most and new.startswith(old[o + same : o + same + step], n + same):
        same, step = same + step, step * 2
    while step > 1 and same < most:
        step //= 2
        if same + step <= most and new.startswith(old[o + same : o + same + step], n + same):
            same += step
    return max(old.rfind("\n", o, o + same) + 1 - o, 0)


def _common_end(old: str, new: str, area: Area) -> int:
    """Return how many characters of the texts are equal at the end, in whole lines."""
    o, o_end, n, n_end = area
    most = min(o_end - o, n_end - n)
    same, step = 0, FIRST_STEP
    while same + step <= most and new.endswith(old[o_end - same - step : o_end - same], n, n_end - same):
        same, step = same + step, step * 2
    while step > 1 and same < most:
        step //= 2
        if same + step <= most and new.endswith(old[o_end - same - step : o_end - same], n, n_end - same):
            same += step
    old_start, new_start = o_end - same, n_end - same
    if (old_start == o or old[old_start - 1] == "\n") and (new_start == n or new[new_start - 1] == "\n"):
        return same
    return o_end - 1 - old.find("\n", old_start, o_end)
