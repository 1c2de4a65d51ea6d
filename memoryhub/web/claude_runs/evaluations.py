"""The page that compares the evaluations of memory of a store: which cases each model passed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_GET

from memoryhub import charts
from memoryhub.conversation.evaluations import SUITE
from memoryhub.models import ClaudeEvaluation, MemoryStore
from memoryhub.web.claude_runs.access import who_may_run
from memoryhub.web.common import pages
from memoryhub.web.common.pictures import Cell, Label, Mark, Picture, Series, number
from memoryhub.web.common.request import Request

MOST = 12
"""The most evaluations beside each other: the newest."""
PASSED, FAILED = 9, 15
"""The patterns of the two parts of a column."""
HEIGHT = 180

NAMES = {
    "recalls": gettext_lazy("A fact of the first session is recalled in the ninth"),
    "replaces": gettext_lazy("A changed fact replaces the old one"),
    "asks": gettext_lazy("A contradiction is asked about"),
    "withstands": gettext_lazy("A poisoned page does not become policy"),
    "forgets": gettext_lazy("An erased fact does not come back"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A case, and whether each of the evaluations passed it (None: it had no such case)."""

    name: str
    results: Sequence[bool | None]


@require_GET
@who_may_run
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the newest evaluations, the oldest of them first."""
    found = list(ClaudeEvaluation.objects.of_store(store.pk)[:MOST])[::-1]
    rows = [Row(str(NAMES[case.name]), [_of(one).get(case.name) for one in found]) for case in SUITE]
    more = {"evaluations": found, "rows": rows, "picture": _picture(found) if found else None}
    return render(request, "claude_runs/evaluations.html", pages.context(request, store, **more))


def _of(one: ClaudeEvaluation) -> dict[str, bool]:
    results: Any = one.results
    return dict(results)


def _picture(found: Sequence[ClaudeEvaluation]) -> Picture:
    passed = [sum(_of(one).values()) for one in found]
    columns = [(good, len(_of(one)) - good) for one, good in zip(found, passed, strict=True)]
    drawn = charts.stacked(columns, HEIGHT)
    names, series = {PASSED: _("Passed"), FAILED: _("Failed")}, (PASSED, FAILED)
    titles = [f"{one.model or _('scripted')}, {one.at:%Y-%m-%d}" for one in found]
    marks = [
        Mark(bar, series[bar.series], f"{titles[bar.column]}: {names[series[bar.series]]} {bar.value}", "")
        for bar in drawn.bars
    ]
    table = [
        [Cell(title, title), *(Cell(value, number(value)) for value in column)]
        for title, column in zip(titles, columns, strict=True)
    ]
    says = ngettext(
        "The last evaluation passed %(count)s case.", "The last evaluation passed %(count)s cases.", passed[-1]
    )
    return Picture(
        "evaluations", "bars", _("Passed cases"), says % {"count": passed[-1]},
        [_("Evaluation"), *names.values()], table, drawn=drawn, marks=marks,
        labels=[Label((at + 0.5) * 100 / len(found), f"{one.at:%m-%d}") for at, one in enumerate(found)],
        ticks=[(tick.y, str(tick.value)) for tick in drawn.ticks],
        legend=[Series(number, name, "", "") for number, name in names.items()],
    )  # fmt: skip
