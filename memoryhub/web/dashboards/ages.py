"""The chart of the age of the backlog: the age of the versions that awaited review at the end of each day."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from statistics import median

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import Decision, MemoryStore, MemoryVersion, Review
from memoryhub.pure import charts, ids
from memoryhub.web.common.pictures import Cell, Mark, Picture, Series, number
from memoryhub.web.dashboards.charts import column_labels, day_cell, ticks_of
from memoryhub.web.dashboards.links import Links
from memoryhub.web.dashboards.lists import review_url
from memoryhub.web.dashboards.period import Column

MOST = 1_000
"""The most versions that await review, and the most decisions, from which the ages are computed."""

DAY = 24
"""The hours of a day. Ages below two days are shown in hours, all others in days."""

OLDEST, MEDIAN = 15, 8
"""The colours of the two lines."""

NEVER = datetime.max.replace(tzinfo=UTC)
_ENDS = (Decision.APPROVED, Decision.REVERTED, Decision.EDITED)


@dataclass(frozen=True, slots=True)
class Wait:
    """The period in which a version awaited review, from `start` to `end`. The version was written at `made`."""

    made: datetime
    start: datetime
    end: datetime = NEVER


@dataclass(frozen=True, slots=True)
class Ages:
    """The versions that awaited review at one moment: their number, and the oldest and the median age in hours."""

    count: int
    oldest: int
    median: int


def over_time(stores: Sequence[str], among: Sequence[Column], now: datetime, links: Links) -> Picture:
    """Return the chart that shows how old the backlog of some stores was, for the days for which this is known."""
    decisions, shown = _decisions(stores, among)
    waiting, is_cut = _waiting(stores)
    waits = list(_waits(decisions, waiting))
    ages = [_ages(waits, min(_midnight(column.end), now)) for column in shown]
    oldest, middle = [each.oldest for each in ages], [each.median for each in ages]
    unit = DAY if max(oldest) >= 2 * DAY else 1
    drawn = charts.line(oldest, unit=unit)
    url = review_url(store=stores[0]) if len(stores) == 1 else review_url()
    return Picture(
        "ages", "line", _("Age of the backlog"), _says(ages[-1], is_cut=is_cut, is_short=len(shown) < len(among)),
        [_("Day"), _("Oldest, in days"), *([] if is_cut else [_("Median, in days"), _("Versions")])],
        [
            [day_cell(column, links), *_cells(each, is_cut=is_cut)]
            for column, each in reversed(list(zip(shown, ages, strict=True)))
        ],
        empty="" if any(each.count for each in ages) else _("At the end of each of these days, nothing awaited "
                                                            "review."),
        drawn=drawn, labels=column_labels(shown), series=OLDEST, wide=True,
        more_lines=[] if is_cut else [(MEDIAN, charts.line(middle, unit=unit, most=max(oldest)).points)],
        marks=[
            Mark(dot, OLDEST, _named(shown[dot.column], ages[dot.column], is_cut=is_cut),
                 links.column(shown[dot.column]))
            for dot in drawn.dots
        ],
        ticks=ticks_of(drawn.ticks, lambda hours: _in_days(hours) if unit == DAY else _in_words(hours)),
        legend=[
            Series(OLDEST, _("Oldest"), _in_words(oldest[-1]), url),
            *([] if is_cut else [Series(MEDIAN, _("Median"), _in_words(middle[-1]), url)]),
        ],
    )  # fmt: skip


def _decisions(
    stores: Sequence[str], among: Sequence[Column]
) -> tuple[list[tuple[str, datetime, str, datetime]], Sequence[Column]]:
    """Return the decisions since the first day of the shown columns, and the shown columns.

    A decision is (version id, time when the version was written, decision, time of the decision). The shown columns are
    `among`. As long as there are more than MOST decisions, the older half of the columns is left out. For a single
    column, no decisions are returned, because they are not needed.
    """
    while len(among) > 1:
        first = ids.derived_id(ids.REVIEW, _midnight(among[0].start), bytes(10))
        found = Review.objects.filter(store__in=stores, pk__gte=first).order_by()
        rows = list(found.values_list("version_id", "version__created_at", "decision", "at", "seq")[: MOST + 1])
        if len(rows) <= MOST:
            return [row[:4] for row in sorted(rows, key=lambda row: row[4])], among
        among = among[-(len(among) // 2) :]
    return [], among


def _waiting(stores: Sequence[str]) -> tuple[list[tuple[str, datetime]], bool]:
    """Return (version, time written) for the versions that await review, and whether there are more than MOST. If there
    are more, only the oldest version of each store is returned."""
    found = MemoryVersion.objects.filter(store__in=stores).unreviewed()
    rows = list(found.order_by().values_list("pk", "created_at")[: MOST + 1])
    if len(rows) <= MOST:
        return rows, False
    first = MemoryVersion.objects.filter(store=OuterRef("pk")).unreviewed().order_by("seq")
    oldest = MemoryStore.objects.filter(pk__in=stores).annotate(
        first=Subquery(first.values("pk")[:1]), since=Subquery(first.values("created_at")[:1])
    )
    return [(pk, at) for pk, at in oldest.values_list("first", "since") if at], True


def _waits(
    decisions: Iterable[tuple[str, datetime, str, datetime]], waiting: Iterable[tuple[str, datetime]]
) -> Iterator[Wait]:
    """Yield a Wait for each period in which a version awaited review; the versions in `waiting` still wait."""
    begun: dict[str, datetime | None] = {}
    for version, made, decision, at in decisions:
        if decision == Decision.REOPENED:
            begun[version] = at
        elif decision in _ENDS:
            start = begun.get(version, made)
            if start is not None:
                yield Wait(made, start, at)
            begun[version] = None
    for version, made in waiting:
        yield Wait(made, begun.get(version) or made)


def _ages(waits: Sequence[Wait], moment: datetime) -> Ages:
    hours = [int((moment - wait.made).total_seconds() // 3600) for wait in waits if wait.start <= moment < wait.end]
    return Ages(len(hours), max(hours), int(median(hours))) if hours else Ages(0, 0, 0)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _says(now: Ages, *, is_cut: bool, is_short: bool) -> str:
    words = {"count": number(now.count), "oldest": _in_words(now.oldest), "median": _in_words(now.median)}
    if not now.count:
        said = _("Nothing awaits review now.")
    elif is_cut:
        said = _("The oldest version that awaits review is %(oldest)s old. There are too many for a median.") % words
    else:
        said = (
            ngettext(
                "The version that awaits review is %(oldest)s old.",
                "The oldest of %(count)s versions that await review is %(oldest)s old, the median is %(median)s.",
                now.count,
            )
            % words
        )
    short = _("Earlier days are left out, because at most %(most)s decisions are counted.") % {"most": number(MOST)}
    return f"{said} {short}" if is_short else said


def _cells(ages: Ages, *, is_cut: bool) -> list[Cell]:
    days = [Cell(round(hours / DAY, 1), f"{hours / DAY:.1f}") for hours in (ages.oldest, ages.median)]
    none = Cell("", "–")
    oldest, middle = days if ages.count else (none, none)
    return [oldest] if is_cut else [oldest, middle, Cell(ages.count, number(ages.count))]


def _named(column: Column, ages: Ages, *, is_cut: bool) -> str:
    words = {"day": column.name, "oldest": _in_words(ages.oldest), "median": _in_words(ages.median)}
    if not ages.count:
        return _("%(day)s: nothing awaited review") % words
    return (_("%(day)s: oldest %(oldest)s") if is_cut else _("%(day)s: oldest %(oldest)s, median %(median)s")) % words


def _in_words(hours: int) -> str:
    if hours >= 2 * DAY:
        return _in_days(hours)
    return ngettext("%(count)s hour", "%(count)s hours", hours) % {"count": number(hours)}


def _in_days(hours: int) -> str:
    return ngettext("%(count)s day", "%(count)s days", hours // DAY) % {"count": number(hours // DAY)}
