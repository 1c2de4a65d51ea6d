"""Sets of line numbers, kept as runs: all lines of a long text together take no more room than a single line."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from memoryhub.pure.text.matching import Area

Run = tuple[int, int]
"""The lines from the first number to the last number, both included."""


@dataclass(frozen=True, slots=True)
class LineSet(Collection[int]):
    """A set of line numbers. `runs` are in order, and between two runs at least one number is not in the set."""

    runs: tuple[Run, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[int]) -> "LineSet":
        """Return the set of some numbers, in any order."""
        return lines if isinstance(lines, cls) else cls.of_runs((line, line) for line in lines)

    @classmethod
    def of_runs(cls, runs: Iterable[Run]) -> "LineSet":
        """Return the set of the lines of some runs, in any order; they may overlap."""
        joined: list[Run] = []
        for first, last in sorted(runs):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
            else:
                joined.append((first, last))
        return cls(tuple(joined))

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and bool(self.within(line, line))

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in order."""
        return chain.from_iterable(range(first, last + 1) for first, last in self.runs)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __bool__(self) -> bool:
        return bool(self.runs)

    @property
    def first(self) -> int:
        """Return the lowest number. The set must not be empty."""
        return self.runs[0][0]

    @property
    def last(self) -> int:
        """Return the highest number. The set must not be empty."""
        return self.runs[-1][1]

    def within(self, first: int, last: int) -> "LineSet":
        """Return the lines from `first` to `last`, both included; no lines if `last` is lower than `first`."""
        found: list[Run] = []
        for at in range(max(0, bisect_right(self.runs, (first, first)) - 1), len(self.runs)):
            low, high = self.runs[at]
            if low > last:
                break
            if max(low, first) <= min(high, last):
                found.append((max(low, first), min(high, last)))
        return LineSet(tuple(found))

    def union(self, other: "LineSet") -> "LineSet":
        return LineSet.of_runs(self.runs + other.runs) if self.runs and other.runs else self if self.runs else other

    def intersection(self, other: "LineSet") -> "LineSet":
        few, many = sorted((self, other), key=lambda lines: len(lines.runs))
        return LineSet(tuple(run for first, last in few.runs for run in many.within(first, last).runs))


class Moves:
    """Where the lines of an old text are in the new text. `areas` are the differences between the two texts."""

    def __init__(self, areas: Sequence[Area]) -> None:
        self.added = LineSet.of_runs((j + 1, j_end) for _i, _i_end, j, j_end in areas if j < j_end)
        """The lines of the new text that are not in the old one."""
        self._starts, self._shifts, self._ends = [1], [0], list[float]()
        for i, i_end, _j, j_end in areas:
            self._ends.append(i)
            self._starts.append(i_end + 1)
            self._shifts.append(j_end - i_end)
        self._ends.append(float("inf"))

    def after(self, lines: LineSet) -> LineSet:
        """Return the numbers that these lines of the old text have in the new text. Lines that are gone are left
        out."""
        return LineSet.of_runs(run for first, last in lines.runs for run in self._moved(first, last))

    def _moved(self, first: int, last: int) -> Iterator[Run]:
        for at in range(bisect_right(self._starts, first) - 1, len(self._starts)):
            start, end = max(first, self._starts[at]), min(last, self._ends[at])
            if self._starts[at] > last:
                return
            if start <= end:
                yield start + self._shifts[at], int(end) + self._shifts[at]
