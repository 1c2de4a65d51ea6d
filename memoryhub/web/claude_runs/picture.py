"""The picture of a run's context: for each answer, how many tokens were sent, written and cleared."""

from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import ClaudeEvent, ClaudeEventKind, ClaudeRun
from memoryhub.pure import charts
from memoryhub.web.common.pictures import Cell, Label, Mark, Picture, Series, number

SENT, WRITTEN, CLEARED = 9, 10, 15
"""The fill patterns of the three parts of a column."""
MOST = 60
"""The most answers that are drawn; older ones are left out."""
HEIGHT = 180


def picture_of(run: ClaudeRun) -> Picture | None:
    """Return the picture, or None if the run has no answer yet."""
    turns = ClaudeEvent.objects.of_run(run.pk).filter(kind=ClaudeEventKind.TURN)
    contents: list[Any] = list(turns.order_by("-number").values_list("content", flat=True)[:MOST])[::-1]
    if not contents:
        return None
    columns = [
        (
            content["context"],
            content["usage"].get("output_tokens") or 0,
            sum(edit.get("cleared_input_tokens") or 0 for edit in content.get("edits", [])),
        )
        for content in contents
    ]
    first = run.turns - len(columns) + 1
    drawn = charts.stacked(columns, HEIGHT)
    names = {SENT: _("In the context"), WRITTEN: _("Written by Claude"), CLEARED: _("Cleared from the context")}
    series = tuple(names)
    marks = [
        Mark(bar, series[bar.series], _words(first + bar.column, bar.value, names[series[bar.series]]), "")
        for bar in drawn.bars
    ]
    table = [
        [Cell(first + at, number(first + at)), *(Cell(value, number(value)) for value in column)]
        for at, column in enumerate(columns)
    ]
    sums = [sum(column) for column in zip(*columns, strict=True)]
    used = [at for at, total in enumerate(sums) if total]
    says = ngettext("%(count)s answer.", "%(count)s answers.", run.turns) % {"count": number(run.turns)}
    return Picture(
        "context", "bars", _("The context, answer by answer"), says,
        [_("Answer"), *names.values()], table,
        drawn=drawn, marks=marks, labels=_labels(len(columns), first),
        ticks=[(tick.y, _short(tick.value)) for tick in drawn.ticks],
        legend=[Series(series[at], names[series[at]], "", "") for at in used],
    )  # fmt: skip


def _words(turn: int, value: int, name: str) -> str:
    return _("Answer %(turn)s: %(tokens)s tokens: %(name)s") % {"turn": turn, "tokens": number(value), "name": name}


def _labels(count: int, first: int) -> list[Label]:
    if count == 1:
        return [Label(50, str(first))]
    step = max(1, count // 5)
    return [Label((at + 0.5) * 100 / count, str(first + at)) for at in range(0, count, step)]


def _short(value: int) -> str:
    return f"{value / 1000:g}k" if value >= 1_000 else str(value)
