"""Geometry of charts computed from numbers: bars, lines, axes and their ticks.

Horizontal measures are in per cent of the width. Vertical measures are in pixels from the top.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor, log10

HEIGHT = 180
"""The pixels between the top of a chart and its base line."""

WIDEST = 5.0
"""The greatest width of a bar, in per cent."""

LABELS = 6
"""How many labels fit under a chart on the screen of a telephone."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal line of a chart, at the height `y`, that marks `value`."""

    value: int
    y: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its column and series, its value, and its rectangle."""

    column: int
    series: int
    value: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Columns of bars; `base` is the `y` of the base line."""

    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]
    base: float


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a line."""

    column: int
    value: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line through dots. `points` and `area` are in a box that is 1,000 wide and HEIGHT high."""

    ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    points: str
    area: str


def steps(least: int, most: int, wanted: int = 4, unit: int = 1) -> tuple[int, ...]:
    """Return about `wanted` values for an axis: from `least` or a lower value to `most` or a higher value.

    Each value is a multiple of a step, which is a round number of `unit`s. If `least` is negative and `most` positive,
    0 is one of the values.
    """
    step = unit * _round_step(max(1, most - least) / unit / wanted)
    first, last = floor(least / step), max(ceil(most / step), floor(least / step) + 1)
    return tuple(number * step for number in range(first, last + 1))


def _round_step(size: float) -> int:
    """Return the smallest round number that is at least `size`. Round numbers are 1, 2, 5, 10, 20, 50, 100, …"""
    power = 10 ** max(0, floor(log10(max(size, 1))))
    return next((int(by * power) for by in (1, 2, 5, 10) if by * power >= size), int(10 * power))


def stacked(columns: Sequence[Sequence[int]], height: float = HEIGHT) -> Bars:
    """Return the bars of stacked columns: each column has one value per series, the first at the bottom."""
    marks = steps(0, max((sum(column) for column in columns), default=0))
    scale = height / marks[-1]
    bars = []
    for number, column in enumerate(columns):
        x, width = _place(number, len(columns))
        for series, (value, top) in enumerate(zip(column, accumulate(column), strict=True)):
            if value:
                high = value * scale
                bars.append(Bar(number, series, value, x, round(height - top * scale, 2), width, round(high, 2)))
    return Bars(_ticks(marks, height), tuple(bars), height)


def mirrored(up: Sequence[int], down: Sequence[int], height: float = HEIGHT) -> Bars:
    """Return the bars of columns with two values each: `up` above the base line (series 0) and `down` below it (series
    1), on the same scale."""
    marks = steps(-max(down, default=0), max(up, default=0))
    scale = height / (marks[-1] - marks[0])
    base = round(marks[-1] * scale, 2)
    bars = []
    for number, (above, beneath) in enumerate(zip(up, down, strict=True)):
        x, width = _place(number, len(up))
        for series, value in enumerate((above, beneath)):
            if value:
                high = round(value * scale, 2)
                bars.append(Bar(number, series, value, x, base if series else round(base - high, 2), width, high))
    return Bars(_ticks(marks, height), tuple(bars), base)


def line(values: Sequence[int], height: float = HEIGHT, unit: int = 1, most: int = 0) -> Line:
    """Return the line through one value per column, on an axis that starts at zero and has room for `most`."""
    marks = steps(0, max([most, *values]), unit=unit)
    scale = height / marks[-1]
    dots = tuple(
        Dot(number, value, middle(number, len(values)), round(height - max(0, value) * scale, 2))
        for number, value in enumerate(values)
    )
    points = " ".join(f"{round(dot.x * 10, 2):g},{dot.y:g}" for dot in dots)
    area = f"{round(dots[0].x * 10, 2):g},{height:g} {points} {round(dots[-1].x * 10, 2):g},{height:g}" if dots else ""
    return Line(_ticks(marks, height), dots, points, area)


def spark(values: Sequence[int], width: float, height: float) -> str:
    """Return the points of a small line as SVG text, in a box of this `width` and `height` in pixels."""
    most = max(max(values, default=0), 1)
    across = width / max(1, len(values) - 1)
    return " ".join(
        f"{round(number * across, 1):g},{round(height - 1 - value / most * (height - 2), 1):g}"
        for number, value in enumerate(values)
    )


def binary_unit(most: int) -> int:
    """Return the unit in which to count bytes (1, 1,024, 1,048,576, …), so that the numbers at an axis are round for
    people."""
    return int(1024 ** max(0, (most.bit_length() - 1) // 10))


def share(value: int, most: int) -> float:
    """Return a value in per cent of `most`, the longest bar. A positive value gets at least 0.5, so that its bar is
    visible."""
    return 0.0 if value <= 0 or most <= 0 else max(0.5, round(100 * value / most, 2))


def middle(column: int, columns: int) -> float:
    """Return the middle of a column in per cent of the width."""
    return round((column + 0.5) * 100 / columns, 3)


def labelled(columns: int, most: int = LABELS) -> tuple[int, ...]:
    """Return the columns that get a label: at most `most`, evenly spaced. The last column is one of them."""
    every = max(1, ceil(columns / most))
    return tuple(column for column in range(columns) if (columns - 1 - column) % every == 0)


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers `first` to `last`, divided into columns. The sizes of two columns differ by one number at most."""

    first: int
    last: int
    columns: int

    @classmethod
    def of(cls, first: int, last: int, most: int) -> "Scale":
        return cls(first, last, min(most, last - first + 1))

    def column(self, number: int) -> int:
        """Return the column of a number; for a number outside of the scale, the first or the last column."""
        inside = min(max(number, self.first), self.last)
        return (inside - self.first) * self.columns // (self.last - self.first + 1)

    def bounds(self, column: int) -> tuple[int, int]:
        """Return the first and the last number of a column."""
        count = self.last - self.first + 1
        low, high = (-(-at * count // self.columns) for at in (column, column + 1))
        return self.first + low, self.first + high - 1

    def x(self, number: int) -> float:
        """Return the position of a number in per cent of the width: 0 for `first`, and 100 for `last`."""
        inside = min(max(number, self.first), self.last)
        return round(100 * (inside - self.first) / max(1, self.last - self.first), 3)


def _place(column: int, columns: int) -> tuple[float, float]:
    """Return (x, width) of a bar in per cent."""
    width = min(WIDEST, 72 / columns)
    return round(middle(column, columns) - width / 2, 3), round(width, 3)


def _ticks(marks: Sequence[int], height: float) -> tuple[Tick, ...]:
    span = marks[-1] - marks[0]
    return tuple(Tick(mark, round(height - (mark - marks[0]) / span * height, 2)) for mark in marks)


@dataclass(frozen=True, slots=True)
class Flow:
    """Boxes in three columns and the edges between them. Each column has the tops of its boxes, from top to bottom.

    `edges` are SVG paths in a box that is 100 wide and `height` high. Each edge has its two ends as (column, box).
    """

    height: float
    tops: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
    edges: tuple[tuple[tuple[int, int], tuple[int, int], str], ...]


FLOW_X = (0.0, 36.0, 72.0)
"""Where the columns of a Flow begin, in per cent; each is FLOW_WIDTH wide."""

FLOW_WIDTH = 28.0


def flow(firsts: int, middles: Sequence[tuple[Collection[int], int]], row: float, box: float) -> Flow:
    """Return a Flow from the first column over the middle one to the last. A box is `box` high, and a row `row` high.

    `firsts` is the number of boxes of the first column. `middles` has a pair for each box of the middle column: which
    boxes of the first column lead to it (their indexes, from 0), and to how many boxes of the last column it leads.
    """
    sizes = [max(1, lasts) for _, lasts in middles]
    height = row * max(firsts, sum(sizes), 1)
    used, start = (height - row * sum(sizes)) / 2, (row - box) / 2
    tops: tuple[list[float], list[float], list[float]] = ([], [], [])
    tops[0].extend(round(height * (number + 0.5) / max(firsts, 1) - box / 2, 2) for number in range(firsts))
    edges = []
    for number, ((before, lasts), size) in enumerate(zip(middles, sizes, strict=True)):
        tops[1].append(round(used + (row * size - box) / 2, 2))
        tops[2].extend(round(used + start + row * last, 2) for last in range(lasts))
        edges += [((0, first), (1, number)) for first in before]
        edges += [((1, number), (2, len(tops[2]) - lasts + last)) for last in range(lasts)]
        used += row * size
    drawn = tuple((a, b, _curve(a[0], tops[a[0]][a[1]] + box / 2, tops[b[0]][b[1]] + box / 2)) for a, b in edges)
    return Flow(height, (tuple(tops[0]), tuple(tops[1]), tuple(tops[2])), drawn)


def _curve(column: int, start: float, end: float) -> str:
    """Return the curve from a box in `column` (at the height `start`) to a box in the next column (at `end`)."""
    left, right = FLOW_X[column] + FLOW_WIDTH, FLOW_X[column + 1]
    between = (left + right) / 2
    return f"M{left:g},{start:g} C{between:g},{start:g} {between:g},{end:g} {right:g},{end:g}"
