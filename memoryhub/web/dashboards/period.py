"""The selection of a dashboard (days, agent and store, all in the URL), and the columns of its charts."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from urllib.parse import urlencode

from django.utils.formats import date_format
from django.utils.translation import gettext as _

ALL_DAYS = "all"
RANGES = {"7": 7, "30": 30, "90": 91, ALL_DAYS: None}
"""The number of days for each value in the URL; the value 90 means 91 days, which are thirteen weeks."""

MOST_DAYS, MOST_WEEKS, MOST_MONTHS = 35, 30, 60
"""The most columns of days, weeks and months. If a chart would have more, it uses the next longer unit."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selection of a person; an empty `agent` or `store` means all of them."""

    range: str = "30"
    agent: str = ""
    store: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str], default: str = "30") -> "Chosen":
        """Parse the parameters of a URL; an unknown range becomes the default."""
        values = {key: parameters.get(key, "").replace("\0", "")[:200] for key in ("range", "agent", "store")}
        return cls(values["range"] if values["range"] in RANGES else default, values["agent"], values["store"])

    def query(self, **changes: str) -> str:
        """Return the query string with some values changed; empty values are left out."""
        chosen = replace(self, **changes)
        given = {"range": chosen.range, "agent": chosen.agent, "store": chosen.store}
        return "?" + urlencode({key: value for key, value in given.items() if value})

    def start(self, today: date) -> date | None:
        """Return the first day of the range; None for all days."""
        days = RANGES[self.range]
        return None if days is None else today - timedelta(days=days - 1)


@dataclass(frozen=True, slots=True)
class Column:
    """The days of one column of a chart: from `start` to the day before `end`.

    `label` is a short text for these days, `name` a complete one.
    """

    start: date
    end: date
    label: str
    name: str


def columns(first: date, today: date) -> tuple[Column, ...]:
    """Return the columns of a chart from the day `first` to `today`.

    If there are at most MOST_DAYS days, each column is a day. Otherwise, if there are at most MOST_WEEKS weeks, each
    column is a week. Otherwise, if there are at most MOST_MONTHS months, each column is a month. Otherwise, each column
    is a year.
    """
    days = (today - first).days + 1
    if days <= MOST_DAYS:
        return _between([first + timedelta(days=number) for number in range(days)], today, "j M", "j F Y")
    if days <= MOST_WEEKS * 7:
        weeks = range(-(-days // 7))
        starts = sorted(today - timedelta(days=7 * number + 6) for number in weeks)
        return tuple(_week(start) for start in starts)
    months = [date(year, month, 1) for year in range(first.year, today.year + 1) for month in range(1, 13)]
    months = [month for month in months if first.replace(day=1) <= month <= today]
    if len(months) <= MOST_MONTHS:
        return _between(months, today, "M Y", "F Y")
    return _between([date(year, 1, 1) for year in range(first.year, today.year + 1)], today, "Y", "Y")


def _between(starts: Sequence[date], today: date, label: str, name: str) -> tuple[Column, ...]:
    ends = [*starts[1:], today + timedelta(days=1)]
    return tuple(
        Column(start, end, date_format(start, label), date_format(start, name))
        for start, end in zip(starts, ends, strict=True)
    )


def _week(start: date) -> Column:
    last = start + timedelta(days=6)
    name = _("%(first)s to %(last)s") % {"first": date_format(start, "j M"), "last": date_format(last, "j M Y")}
    return Column(start, start + timedelta(days=7), date_format(start, "j M"), name)


def place(day: date, among: Sequence[Column]) -> int | None:
    """Return the index of the column that contains a day, or None."""
    number = bisect_right([column.start for column in among], day) - 1
    return number if number >= 0 and day < among[number].end else None
