"""Numbers to the geometry of charts: bars, lines, axes and their ticks.

Across, everything is in per cent of the width, so that a chart is as wide as its place and its words keep their size;
down, it is in pixels from the top. Nothing here knows what the numbers mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor, log10

HEIGHT = 180
"""Pixels between the top of a chart and its base line."""

WIDEST = 5.0
"""Per cent: a bar is not wider, however few there are."""

LABELS = 6
"""So many words fit beneath a chart on a telephone."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across, at `y`, that means `value`."""

    value: int
    y: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One mark: which column and which series it is of, what it means, and its rectangle."""

    column: int
    series: int
    value: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Columns of bars; `base` is the y of the line on which they stand."""

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
    """Round numbers from at most `least` to at least `most`, about so many; 0 is among them where it lies between.

    They are round when counted in `unit`.
    """
    step = unit * _round_step(max(1, most - least) / unit / wanted)
    first, last = floor(least / step), max(ceil(most / step), floor(least / step) + 1)
    return tuple(number * step for number in range(first, last + 1))


def _round_step(size: float) -> int:
    """1, 2 or 5 times a power of ten, at least `size`; never below 1."""
    power = 10 ** max(0, floor(log10(max(size, 1))))
    return next((int(by * power) for by in (1, 2, 5, 10) if by * power >= size), int(10 * power))


def stacked(columns: Sequence[Sequence[int]], height: float = HEIGHT) -> Bars:
    """Columns of values, one for each series, the first at the bottom."""
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
    """Two values a column, one above the base line and one beneath it, to one scale; series 0 is above."""
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


def line(values: Sequence[int], height: float = HEIGHT, unit: int = 1) -> Line:
    """One value a column, from nothing upwards."""
    marks = steps(0, max(values, default=0), unit=unit)
    scale = height / marks[-1]
    dots = tuple(
        Dot(number, value, middle(number, len(values)), round(height - max(0, value) * scale, 2))
        for number, value in enumerate(values)
    )
    points = " ".join(f"{round(dot.x * 10, 2):g},{dot.y:g}" for dot in dots)
    area = f"{round(dots[0].x * 10, 2):g},{height:g} {points} {round(dots[-1].x * 10, 2):g},{height:g}" if dots else ""
    return Line(_ticks(marks, height), dots, points, area)


def spark(values: Sequence[int], width: float, height: float) -> str:
    """The points of a small line without an axis, in a box of this size with a pixel to spare above and below."""
    most = max(max(values, default=0), 1)
    across = width / max(1, len(values) - 1)
    return " ".join(
        f"{round(number * across, 1):g},{round(height - 1 - value / most * (height - 2), 1):g}"
        for number, value in enumerate(values)
    )


def binary_unit(most: int) -> int:
    """Bytes are counted in these: 1, 1,024, 1,048,576 and so on, so that ticks are round for people."""
    return int(1024 ** max(0, (most.bit_length() - 1) // 10))


def share(value: int, most: int) -> float:
    """Per cent of the longest bar; what is something can be seen."""
    return 0.0 if value <= 0 or most <= 0 else max(0.5, round(100 * value / most, 2))


def middle(column: int, columns: int) -> float:
    """Per cent: the middle of a column."""
    return round((column + 0.5) * 100 / columns, 3)


def labelled(columns: int, most: int = LABELS) -> tuple[int, ...]:
    """The columns that have a word beneath them: evenly apart, the last one among them."""
    every = max(1, ceil(columns / most))
    return tuple(column for column in range(columns) if (columns - 1 - column) % every == 0)


def _place(column: int, columns: int) -> tuple[float, float]:
    """(x, width) of a bar."""
    width = min(WIDEST, 72 / columns)
    return round(middle(column, columns) - width / 2, 3), round(width, 3)


def _ticks(marks: Sequence[int], height: float) -> tuple[Tick, ...]:
    span = marks[-1] - marks[0]
    return tuple(Tick(mark, round(height - (mark - marks[0]) / span * height, 2)) for mark in marks)
