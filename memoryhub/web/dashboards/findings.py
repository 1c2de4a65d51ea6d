"""The chart of a store's findings by the day on which they were found."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, time

from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import Finding, FindingState, MemoryStore
from memoryhub.pure import charts, ids
from memoryhub.pure.sensitive import Group
from memoryhub.web.common.pictures import Cell, Mark, Picture, Series, number
from memoryhub.web.common.texts.kinds import GROUPS, SEVERITY, group_of
from memoryhub.web.dashboards.charts import column_labels, day_cell, ticks_of
from memoryhub.web.dashboards.links import Links
from memoryhub.web.dashboards.period import Column, place

MOST = 2_000
"""The most findings of each state that are counted: the newest ones."""

_COLOURS = {Group.POISON: 7, Group.SECRET: 5, Group.PERSONAL: 3}


def over_time(store: MemoryStore, among: Sequence[Column], links: Links) -> Picture:
    """Return the chart of findings over time, stacked by group, the worst group first."""
    counts, opened, is_cut = _counted(store, among)
    sums = {group: sum(counts[at, group] for at in range(len(among))) for group in SEVERITY}
    used, total = [group for group in SEVERITY if sums[group]], sum(sums.values())
    drawn = charts.stacked([[counts[at, group] for group in used] for at in range(len(among))])
    urls = {group: reverse("store_findings", args=[store.pk]) + f"?group={group}" for group in used}
    rows = [
        [
            day_cell(column, links),
            *(Cell(counts[at, group], number(counts[at, group])) for group in used),
            Cell(count := sum(counts[at, group] for group in used), number(count)),
        ]
        for at, column in reversed(list(enumerate(among)))
    ]
    marks = [
        Mark(bar, _COLOURS[group], f"{among[bar.column].name}: {GROUPS[group][0]}, {number(bar.value)}", urls[group])
        for bar in drawn.bars
        if (group := used[bar.series])
    ]
    return Picture(
        "findings", "bars", _("Findings over time"), _says(total, opened, is_cut),
        [_("Day"), *(str(GROUPS[group][0]) for group in used), _("All")], rows,
        empty="" if total else _("Nothing was found in these days."), drawn=drawn, marks=marks,
        labels=column_labels(among), ticks=ticks_of(drawn.ticks, number),
        legend=[Series(_COLOURS[group], str(GROUPS[group][0]), number(sums[group]), urls[group]) for group in used],
        more=(_("Open findings"), reverse("store_findings", args=[store.pk])) if opened else None,
    )  # fmt: skip


def _counted(store: MemoryStore, among: Sequence[Column]) -> tuple[Counter[tuple[int, Group]], int, bool]:
    """Return {(column, group): number of findings}, the number of open findings, and whether findings may be missing in
    these numbers."""
    first = datetime.combine(among[0].start, time(), UTC)
    since = Finding.objects.of_store(store.pk).filter(pk__gte=ids.derived_id(ids.FINDING, first, bytes(10)))
    counts, opened, is_cut = Counter[tuple[int, Group]](), 0, False
    for state in FindingState:
        found = list(since.filter(state=state).order_by("-pk").values_list("at", "kind")[:MOST])
        is_cut = is_cut or len(found) == MOST
        opened += len(found) if state == FindingState.OPEN else 0
        for at, kind in found:
            column = place(at.astimezone(UTC).date(), among)
            if column is not None:
                counts[column, group_of(kind)] += 1
    return counts, opened, is_cut


def _says(total: int, opened: int, is_cut: bool) -> str:
    message = ngettext(
        "%(count)s finding by the day on which it was found;",
        "%(count)s findings by the day on which they were found;",
        total,
    ) % {"count": number(total)}
    message += " " + ngettext("%(open)s is still open.", "%(open)s are still open.", opened) % {"open": number(opened)}
    newest = _("Only the newest %(most)s of each state are counted.") % {"most": number(MOST)}
    return f"{message} {newest}" if is_cut else message
