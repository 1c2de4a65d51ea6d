"""Data of a chart on a page: its marks, legend and table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in the table of a chart; `shown` is the text that a person reads."""

    value: object
    shown: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A drawn mark: `shape` is a charts.Bar or a charts.Dot, `name` is its meaning in words."""

    shape: Any
    series: int
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Series:
    """One entry of a chart's legend: `number` selects its colour, `title` is a technical name for a tooltip."""

    number: int
    name: str
    total: str
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A word below a column; `x` is its position in per cent from the left."""

    x: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Row:
    """A row in a list with bars: its name, and the lengths of its three bars `share`, `second` and `third`.

    `says` is a text beside the name; `meta` is a further text that warns.
    """

    name: str
    url: str
    shown: str
    share: float
    second: float = 0
    third: float = 0
    meta: str = ""
    kind: str = ""
    says: str = ""

    @property
    def third_at(self) -> float:
        """Return the position at which the third bar begins."""
        return self.share + self.second


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart: `kind` is bars, line, list or map. `columns` and `rows` are its table.

    `more_lines` are the colours and points of further lines of a line chart.
    """

    name: str
    kind: str
    title: str
    says: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = ""
    drawn: Any = None
    marks: Sequence[Mark] = ()
    labels: Sequence[Label] = ()
    ticks: Sequence[tuple[float, str]] = ()
    legend: Sequence[Series] = ()
    items: Sequence[Row] = ()
    series: int = 0
    more_lines: Sequence[tuple[int, str]] = ()
    more: tuple[str, str] | None = None
    wide: bool = field(default=False)

    def records(self) -> Iterable[Mapping[str, object]]:
        """Return the rows of the table for a download."""
        return ({name: cell.value for name, cell in zip(self.columns, row, strict=True)} for row in self.rows)


def number(value: int) -> str:
    """Return a number with thousands separators, such as 12,345."""
    return f"{value:,}"
