"""Two charts of a rehearsal: the memories that policies would have expired in past weeks, and will expire in coming
weeks."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import formats, timezone
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.retention import weeks
from memoryhub.pure import charts
from memoryhub.pure.retention_rules import Policy
from memoryhub.pure.retention_rules.weeks import Weeks
from memoryhub.web.common.pictures import Cell, Label, Mark, Picture, number

WEEKS = 12
PAST, COMING = 1, 2
"""Colour numbers of the two charts."""


def past(store_id: str, at: datetime, tried: Sequence[Policy] | None, against_saved: bool) -> Picture:
    """Return the chart of the memories that the policies `tried` would have expired in each of the last WEEKS weeks.

    If `tried` is None, the saved policies are used. With `against_saved`, the table of the chart also has the numbers
    of the saved policies.
    """
    now = weeks.past_weeks(store_id, at, tried, WEEKS)
    before = weeks.past_weeks(store_id, at, None, WEEKS) if against_saved else None
    says = ngettext(
        "In the last %(weeks)s weeks %(count)s memory would have gone to the trash.",
        "In the last %(weeks)s weeks %(count)s memories would have gone to the trash.",
        now.count,
    ) % {"count": number(now.count), "weeks": WEEKS}
    if now.exact_from is not None:
        says += " " + _("What happened before %(day)s is only partly known.") % {"day": _day(now.exact_from)}
    empty = _("In the last 12 weeks nothing would have expired.")
    title = _("What all policies together would have removed each week")
    return _picture("past", PAST, title, says, empty, now, before)


def coming(store_id: str, at: datetime, tried: Sequence[Policy] | None, against_saved: bool) -> Picture:
    """Return the chart of the memories that the policies `tried` will expire in each of the next WEEKS weeks, if no one
    reads or changes a memory.

    If `tried` is None, the saved policies are used. With `against_saved`, the table of the chart also has the numbers
    of the saved policies.
    """
    now = weeks.coming_weeks(store_id, at, tried, WEEKS)
    before = weeks.coming_weeks(store_id, at, None, WEEKS) if against_saved else None
    says = ngettext(
        "If nobody reads or changes anything, %(count)s memory goes to the trash in the next %(weeks)s weeks.",
        "If nobody reads or changes anything, %(count)s memories go to the trash in the next %(weeks)s weeks.",
        now.count,
    ) % {"count": number(now.count), "weeks": WEEKS}
    if now.before:
        says += " " + ngettext("%(count)s has already expired.", "%(count)s have already expired.", now.before) % {
            "count": number(now.before)
        }
    empty = _("In the next 12 weeks nothing more will expire.")
    return _picture("coming", COMING, _("What all policies together will remove each week"), says, empty, now, before)


def _picture(name: str, colour: int, title: str, says: str, empty: str, now: Weeks, before: Weeks | None) -> Picture:
    """Return a chart of the counts in `now`, with a bar for each week. The table of the chart also has the counts in
    `before`, if given."""
    counts, names = [week.count for week in now.weeks], [_week(week.start, week.end) for week in now.weeks]
    drawn = charts.stacked([[count] for count in counts])
    words = _("%(week)s: %(count)s")
    marks = [
        Mark(bar, colour, words % {"week": names[bar.column], "count": number(bar.value)}, f"#{name}")
        for bar in drawn.bars
    ]
    compared = [counts] if before is None else [counts, [week.count for week in before.weeks]]
    rows = [
        [Cell(week, week), *(Cell(of[place], number(of[place])) for of in compared)] for place, week in enumerate(names)
    ]
    columns = [_("Week"), _("Memories")] if before is None else [_("Week"), _("With this draft"), _("As saved now")]
    labels = [Label(charts.middle(at, WEEKS), _day(now.weeks[at].start)) for at in charts.labelled(WEEKS)]
    nothing = not now.count and not (before and before.count)
    return Picture(
        name,
        "bars",
        title,
        says,
        columns,
        rows,
        empty=empty if nothing else "",
        drawn=drawn,
        marks=marks,
        labels=labels,
        ticks=[(tick.y, number(tick.value)) for tick in drawn.ticks],
    )


def _week(start: datetime, end: datetime) -> str:
    last = timezone.localtime(end - timedelta(seconds=1))
    return _("%(first)s to %(last)s") % {"first": _day(start), "last": formats.date_format(last, "j M Y")}


def _day(moment: datetime) -> str:
    return formats.date_format(timezone.localtime(moment), "j M")
