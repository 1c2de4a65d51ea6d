"""Finds common runs of two sequences of lines or words, with bounded work."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LARGEST_AREA = 4_000_000
"""A stretch of the old and one of the new sequence with more pairs than this are not searched as a whole."""

SPLITS = 8

Area = tuple[int, int, int, int]
"""An area of two sequences: old positions [first, end) and new positions [first, end)."""
Pair = tuple[int, int]
Run = tuple[int, int, int]
"""A run of elements that both sequences have: first old position, first new position, length."""


@dataclass(slots=True)
class Budget:
    """How much work is left. `passed`: a stretch was not searched, because too little work was left."""

    left: int
    passed: bool = False

    def take(self, work: int) -> bool:
        """Use up this much work and return True. If too little work is left, use nothing and return False."""
        if work > self.left:
            return False
        self.left -= work
        return True


@dataclass(slots=True)
class Work:
    """How much work is left for all comparisons of one request, in units of about a microsecond.

    Characters, lines and pairs are counted, never time, so the same texts cost the same on every machine. The first
    comparison of a request is always made. A later one is made only if enough work is left.
    """

    left: int
    begun: bool = False

    def opens(self, cost: int) -> bool:
        """Return whether a comparison of at least this cost may be made. If so, the cost is used up."""
        if self.begun and cost > self.left:
            return False
        self.begun = True
        self.spend(cost)
        return True

    def spend(self, cost: int) -> None:
        """Use up this cost. The work that is left never falls below 0."""
        self.left = max(0, self.left - cost)


def size_of(texts: Iterable[str]) -> tuple[int, int]:
    """Return how many characters, and how many line feeds, `texts` have in total."""
    characters = lines = 0
    for text in texts:
        characters, lines = characters + len(text), lines + text.count("\n")
    return characters, lines


def cost_of_matching(*texts: str) -> int:
    """Return the cost of reading texts line by line, without the cost of examining pairs of lines."""
    characters, lines = size_of(texts)
    return characters // 64 + lines // 4


def common_runs(old: Sequence[str], new: Sequence[str], budget: Budget) -> list[Run]:
    """Return the longest common subsequence as runs, in order. If the budget is too small, some runs are missing."""
    runs: list[Run] = []
    for i, j in _pairs(old, new, (0, len(old), 0, len(new)), budget, SPLITS):
        if runs and runs[-1][0] + runs[-1][2] == i and runs[-1][1] + runs[-1][2] == j:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((i, j, 1))
    return runs


def differing(runs: Sequence[Run], old_end: int, new_end: int) -> list[Area]:
    """Return the areas before, between and after the runs, in which the sequences differ."""
    areas: list[Area] = []
    i = j = 0
    for old_first, new_first, count in [*runs, (old_end, new_end, 0)]:
        if (i, j) != (old_first, new_first):
            areas.append((i, old_first, j, new_first))
        i, j = old_first + count, new_first + count
    return areas


def _pairs(old: Sequence[str], new: Sequence[str], area: Area, budget: Budget, splits: int) -> list[Pair]:
    """Return pairs (old, new) of the positions of equal elements in an area, in order.

    First, elements that are equal at the start or at the end of both sides are paired. Between them, the longest chain
    of pairs is taken. If this is too much work, the longest chains of parts of the area are taken.
    """
    i, i_end, j, j_end = inner = _trimmed(old, new, area)
    head = list(zip(range(area[0], i), range(area[2], j), strict=True))
    tail = list(zip(range(i_end, area[1]), range(j_end, area[3]), strict=True))
    places: dict[str, list[int]] = {}
    for position in range(j_end - 1, j - 1, -1):
        places.setdefault(new[position], []).append(position)
    candidates = [(x, places[old[x]]) for x in range(i, i_end) if old[x] in places]
    work = sum(len(equals) for _, equals in candidates)
    if not work:
        return head + tail
    if (i_end - i) * (j_end - j) <= LARGEST_AREA and budget.take(work):
        return head + _longest(candidates) + tail
    return head + _pairs_of_parts(old, new, inner, budget, splits) + tail


def _pairs_of_parts(old: Sequence[str], new: Sequence[str], area: Area, budget: Budget, splits: int) -> list[Pair]:
    """Return the pairs of a large area.

    It is cut at elements that occur once on each side; without such elements there are no pairs.
    """
    anchors = _anchors(old, new, area) if splits else []
    if not anchors:
        budget.passed = True
        return []
    pairs: list[Pair] = []
    i, i_end, j, j_end = area
    for x, y in anchors:
        pairs += [*_pairs(old, new, (i, x, j, y), budget, splits - 1), (x, y)]
        i, j = x + 1, y + 1
    return pairs + _pairs(old, new, (i, i_end, j, j_end), budget, splits - 1)


def _trimmed(old: Sequence[str], new: Sequence[str], area: Area) -> Area:
    """Return the area without the elements that are equal at the start or at the end of both sides."""
    i, i_end, j, j_end = area
    while i < i_end and j < j_end and old[i] == new[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    return i, i_end, j, j_end


def _anchors(old: Sequence[str], new: Sequence[str], area: Area) -> list[Pair]:
    """Return the longest chain of pairs (old, new) of elements that occur exactly once on each side."""
    i, i_end, j, j_end = area
    often_old, often_new = Counter(old[i:i_end]), Counter(new[j:j_end])
    once = {new[y]: [y] for y in range(j, j_end) if often_new[new[y]] == 1 == often_old[new[y]]}
    return _longest([(x, once[old[x]]) for x in range(i, i_end) if old[x] in once])


def _longest(candidates: Sequence[tuple[int, Sequence[int]]]) -> list[Pair]:
    """Return the longest chain of pairs that rises on both sides (by the method of Hunt and Szymanski).

    A candidate is (old position, new positions of equal elements). Old positions rise from candidate to candidate; the
    new positions of one candidate fall.
    """
    ends: list[int] = []
    chains: list[tuple[int, int, object]] = []
    for i, places in candidates:
        for j in places:
            length = bisect_left(ends, j)
            link = (i, j, chains[length - 1] if length else None)
            if length == len(ends):
                ends.append(j)
                chains.append(link)
            elif j < ends[length]:
                ends[length], chains[length] = j, link
    return _unlinked(chains[-1] if chains else None)


def _unlinked(chain: object) -> list[Pair]:
    """Return the pairs of a linked chain, in order. A chain is (old, new, the chain before it) or None."""
    pairs: list[Pair] = []
    while isinstance(chain, tuple):
        pairs.append((chain[0], chain[1]))
        chain = chain[2]
    return pairs[::-1]


def slid(runs: Sequence[Run], old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return the runs of equal lines, with each addition or removal between two of these runs moved to where it reads
    best.

    For example, an added section begins with its heading, and ends with the blank line after it.
    """
    result = list(runs)
    for position in range(len(result) - 1):
        (i, j, count), (next_i, next_j, next_count) = result[position : position + 2]
        if i + count == next_i:
            shift = _shift(new, j + count, next_j, count - 1, next_count - 1)
        elif j + count == next_j:
            shift = _shift(old, i + count, next_i, count - 1, next_count - 1)
        else:
            continue
        result[position] = (i, j, count + shift)
        result[position + 1] = (next_i + shift, next_j + shift, next_count - shift)
    return result


def _shift(lines: Sequence[str], first: int, end: int, most_up: int, most_down: int) -> int:
    """Return by how many lines to move the lines [first, end) down (negative: up), so that they have their best start.

    If several starts are equally good, the one furthest down is taken.
    """
    up = down = 0
    while up < most_up and lines[first - 1 - up] == lines[end - 1 - up]:
        up += 1
    while down < most_down and lines[first + down] == lines[end + down]:
        down += 1
    return max(range(-up, down + 1), key=lambda shift: (_start_rank(lines, first + shift), shift))


def _start_rank(lines: Sequence[str], first: int) -> int:
    """Return how natural it is that a change begins at this line: 2 at a heading, 1 after a blank line, otherwise 0."""
    if lines[first].startswith("#"):
        return 2
    return 1 if first and lines[first].strip() and not lines[first - 1].strip() else 0
