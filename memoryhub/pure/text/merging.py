"""A three-way merge, line by line: the changes that two sides made to the same text, with bounded work.

A change that only one side made is taken, and so is a change that both made alike. Where both changed the same or
adjacent lines differently, the result is a conflict with the lines of all three texts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from memoryhub.pure.text.matching import Area, Budget, Work, common_runs, differing, slid

MATCHING_PAIRS = 200_000
"""How many pairs of equal lines are examined for each side. If there are more, a stretch counts as wholly changed. That
can only add a conflict, never produce a text that no one meant."""

SHORTEST_MARK = 7
_LIKE_A_MARKER = re.compile(r"^(<+|\|+|=+|>+)(?= |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed, with their line feeds. If a side removed the lines, its text is empty."""

    base: str
    mine: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Merge:
    """The result of a merge: merged stretches of text, with conflicts between them, in order."""

    parts: tuple[str | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(part for part in self.parts if isinstance(part, Conflict))

    @property
    def is_clean(self) -> bool:
        return not any(isinstance(part, Conflict) for part in self.parts)

    @property
    def text(self) -> str:
        """The merged text. Raises ValueError if the merge has conflicts."""
        if not self.is_clean:
            raise ValueError("a merge with conflicts is no text yet")
        return self.settled(lambda conflict: "")

    def settled(self, settle: Callable[[Conflict], str]) -> str:
        """Return the text in which each conflict is replaced by the result of `settle`, which is called for the
        conflicts in order."""
        return joined(part if isinstance(part, str) else settle(part) for part in self.parts)

    @property
    def mark(self) -> int:
        """The length of the conflict markers. No line of the merged texts looks like a marker of this length."""
        return mark_for(*(piece for part in self.parts for piece in _pieces(part)))

    def marked(self, mine: str, theirs: str) -> str:
        """Return the text, with each conflict on lines of its own between markers. `mine` and `theirs` are the names of
        the sides in the markers."""
        mark = self.mark
        return self.settled(lambda conflict: marked(conflict, mark, mine, theirs))


def merge(base: str, mine: str, theirs: str, *, work: Work | None = None) -> Merge:
    """Return the Merge of the changes that both sides made to the base.

    The cost of matching lines is taken from `work`. If a side is equal to the base, nothing is compared.
    """
    if base in (mine, theirs):
        only = theirs if mine == base else mine
        return Merge((only,) if only else ())
    old, left, right = lines_of(base), lines_of(mine), lines_of(theirs)
    parts: list[str | Conflict] = []
    for stretch in _stretches(old, left, right, work):
        if parts and isinstance(stretch, str) and isinstance(parts[-1], str):
            parts[-1] += stretch
        elif stretch:
            parts.append(stretch)
    return Merge(tuple(parts))


def overruled(conflict: Conflict, work: Work | None = None) -> str:
    """Return the text with the changes of both sides, line by line: lines that either side removed are gone, and lines
    that either side added are there.

    Where both sides replaced the same lines, only the new lines of `theirs` are kept. The cost of matching lines is
    taken from `work`.
    """
    base, mine, theirs = lines_of(conflict.base), lines_of(conflict.mine), lines_of(conflict.theirs)
    right = changes(base, theirs, work)
    replaced = {i for area in right for i in range(area[0], area[1])}
    left = [part for area in changes(base, mine, work) for part in _by_line(area)]
    removed = replaced | {i for area in left for i in range(area[0], area[1])}
    added: dict[int, list[str]] = {}
    for first, end, start, stop in left:
        if first == end or not replaced.issuperset(range(first, end)):
            added.setdefault(first, []).extend(mine[start:stop])
    for first, _, start, stop in right:
        if added.get(first) != theirs[start:stop]:
            added.setdefault(first, []).extend(theirs[start:stop])
    pieces = [[*added.get(i, ()), *(base[i : i + 1] if i not in removed else ())] for i in range(len(base) + 1)]
    return joined(line for piece in pieces for line in piece)


def _by_line(area: Area) -> list[Area]:
    """Split an area into single lines if it replaces lines by the same number of lines. Otherwise return the area
    alone."""
    first, end, start, stop = area
    if end - first != stop - start:
        return [area]
    return [(first + i, first + i + 1, start + i, start + i + 1) for i in range(end - first)]


def beside(mine: str, theirs: str) -> Merge:
    """Return a merge of two texts whose base is unknown. Every difference is a conflict."""
    left, right = lines_of(mine), lines_of(theirs)
    parts: list[str | Conflict] = []
    i = 0
    for first, end, other, other_end in changes(left, right):
        parts += ["".join(left[i:first]), Conflict("", "".join(left[first:end]), "".join(right[other:other_end]))]
        i = end
    return Merge(tuple(part for part in [*parts, "".join(left[i:])] if part))


def mark_for(*texts: str) -> int:
    """Return a length of markers at which no line of these texts looks like a marker."""
    taken = {len(found[1]) for text in texts for found in _LIKE_A_MARKER.finditer(text)}
    return next(length for length in count(SHORTEST_MARK) if length not in taken)


def unmarked(text: str, mark: int) -> Merge:
    """Return the Merge for a text that `Merge.marked` wrote with markers of the length `mark`.

    The text may have been edited since then: only conflicts with all four markers count.
    """
    lines = lines_of(text)
    starts = [mark * sign for sign in "<|=>"]
    parts: list[str | Conflict] = []
    settled = i = 0
    while i < len(lines):
        marks = _marks(lines, i, starts)
        if marks is None:
            i += 1
            continue
        first, base, theirs, end = marks
        sides = (slice(base + 1, theirs), slice(first + 1, base), slice(theirs + 1, end))
        parts += ["".join(lines[settled:first]), Conflict(*("".join(lines[side]) for side in sides))]
        settled = i = end + 1
    return Merge(tuple(part for part in [*parts, "".join(lines[settled:])] if part))


def _marks(lines: Sequence[str], first: int, starts: Sequence[str]) -> tuple[int, int, int, int] | None:
    """Return the line numbers of the four markers of the conflict that begins at line `first`; None if no conflict
    begins there."""
    found: list[int] = []
    for place in range(first, len(lines)):
        marks = [lines[place].rstrip("\n").partition(" ")[0] == start for start in starts]
        if marks[len(found)]:
            found.append(place)
            if len(found) == len(starts):
                return found[0], found[1], found[2], found[3]
        elif not found or marks[0]:
            return None
    return None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their line feeds; the last line may lack one."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def joined(pieces: Iterable[str]) -> str:
    """Join pieces, each of which begins a line. A piece without a final line feed gets one."""
    text: list[str] = []
    for piece in filter(None, pieces):
        if text and not text[-1].endswith("\n"):
            text.append("\n")
        text.append(piece)
    return "".join(text)


def _pieces(part: str | Conflict) -> tuple[str, ...]:
    return (part,) if isinstance(part, str) else (part.base, part.mine, part.theirs)


def marked(conflict: Conflict, mark: int, mine: str, theirs: str) -> str:
    """Return a conflict as text, with its three sides between markers. `mine` and `theirs` are the names of the sides
    in the markers."""
    start, before, between, end = (mark * sign for sign in "<|=>")
    sides = [f"{start} {mine}\n", conflict.mine, f"{before}\n", conflict.base, f"{between}\n", conflict.theirs]
    return joined([*sides, f"{end} {theirs}\n"])


def _stretches(
    base: Sequence[str], mine: Sequence[str], theirs: Sequence[str], work: Work | None
) -> Iterator[str | Conflict]:
    """Yield, in order, lines that both sides kept, and the result of each group of changes: a text or a conflict."""
    i = 0
    for left, right in groups(changes(base, mine, work), changes(base, theirs, work)):
        first, end = reach([*left, *right])
        yield "".join(base[i:first])
        yield _became(
            "".join(base[first:end]), _side(base, mine, left, first, end), _side(base, theirs, right, first, end)
        )
        i = end
    yield "".join(base[i:])


def changes(base: Sequence[str], side: Sequence[str], work: Work | None = None) -> list[Area]:
    """Return the areas in which the lines of a side differ from the lines of the base, in order."""
    budget = Budget(MATCHING_PAIRS)
    runs = common_runs(base, side, budget)
    areas = differing(slid(runs, base, side), len(base), len(side))
    if work is not None:
        work.spend((MATCHING_PAIRS - budget.left) // 4 + _cost_of_merging(areas))
    return areas


def _cost_of_merging(areas: Sequence[Area]) -> int:
    """Return the cost of merging these areas, in units of Work.

    Each area costs something, and so does each line from the start of the first area to the end of the last one.
    """
    if not areas:
        return 0
    (first, _, start, _), (_, end, _, stop) = areas[0], areas[-1]
    return end - first + stop - start + 5 * len(areas)


def groups(mine: Sequence[Area], theirs: Sequence[Area]) -> Iterator[tuple[list[Area], list[Area]]]:
    """Yield groups of changes, in order: changes of both sides that overlap or touch in the base are in one group."""
    ours: tuple[list[Area], list[Area]] = ([], [])
    end = -1
    for area, side in sorted([*((area, 0) for area in mine), *((area, 1) for area in theirs)]):
        if end >= 0 and area[0] > end:
            yield ours
            ours, end = ([], []), -1
        ours[side].append(area)
        end = max(end, area[1])
    if end >= 0:
        yield ours


def reach(areas: Sequence[Area]) -> tuple[int, int]:
    return min(area[0] for area in areas), max(area[1] for area in areas)


def _side(base: Sequence[str], side: Sequence[str], areas: Sequence[Area], first: int, end: int) -> str:
    """Return what a side made of the base's lines [first, end): its changes, and the lines between them that it
    kept."""
    pieces: list[str] = []
    i = first
    for area in areas:
        pieces += [*base[i : area[0]], *side[area[2] : area[3]]]
        i = area[1]
    return "".join([*pieces, *base[i:end]])


def _became(base: str, mine: str, theirs: str) -> str | Conflict:
    if theirs in (mine, base):
        return mine
    return theirs if mine == base else Conflict(base, mine, theirs)
