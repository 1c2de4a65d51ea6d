"""The page that compares a store's evaluations of memory, and starts new ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from memoryhub.actions.claude_runs import configuration, evaluations
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.actions.claude_runs.runs import NotNow
from memoryhub.models import ClaudeEvaluation, ClaudeRunState, MemoryStore
from memoryhub.pure import charts
from memoryhub.pure.conversation.evaluations import SUITE
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.claude_runs import words
from memoryhub.web.claude_runs.access import who_may_run
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, person
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.pictures import Cell, Label, Mark, Picture, Series, number
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people

MOST = 12
"""The most evaluations that are compared; older ones are left out."""
PASSED, FAILED = 9, 15
"""The fill patterns of the two parts of a column."""
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
    """A case, and for each evaluation whether it passed the case (None: the evaluation did not have this case)."""

    name: str
    results: Sequence[bool | None]


class StartForm(forms.Form):
    """The model to evaluate. An empty value means scripted answers, without Claude."""

    model = forms.ChoiceField(label=gettext_lazy("Model"), required=False)

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        models = configuration.models() if configuration.is_configured() else ()
        scripted = ("", _("scripted, without Claude"))
        choices = [*((model.pk, model.name) for model in models), scripted]
        self.fields["model"].initial = choices[0][0]
        self.fields["model"].choices = choices  # type: ignore[attr-defined]


@require_GET
@who_may_run
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the newest finished evaluations, the oldest of them first, and the newest one if it has not finished.

    With `part=state`, answer with the progress of the running evaluation.
    """
    newest = ClaudeEvaluation.objects.of_store(store.pk).select_related("started_by").first()
    last = newest if newest is not None and newest.state != ClaudeRunState.FINISHED else None
    state = {"last": last, **_state(last)} if last else {}
    if request.GET.get("part") == "state":
        if last is None or not last.is_going_on:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return render(request, "claude_runs/_evaluation.html", pages.context(request, store, **state))
    found = list(ClaudeEvaluation.objects.of_store(store.pk).finished()[:MOST])[::-1]
    rows = [Row(str(NAMES[case.name]), [_of(one).get(case.name) for one in found]) for case in SUITE]
    more = {"evaluations": found, "rows": rows, "picture": _picture(found) if found else None, "form": StartForm()}
    more |= {"is_configured": configuration.is_configured(), **state}
    return render(request, "claude_runs/evaluations.html", pages.context(request, store, **more))


def _state(last: ClaudeEvaluation) -> dict[str, object]:
    """Return, for the page, the progress of an evaluation, or why it stopped before its end."""
    done = len(_of(last))
    case = SUITE[min(done, len(SUITE) - 1)]
    if last.state == ClaudeRunState.INTERRUPTED:
        why = _("The hub was stopped during this evaluation. Start the evaluation again.")
    else:
        why = problem_words(last.problem)
    badge = {"state": words.state_words(last), "tone": words.TONES[last.state], "why": why}
    return {**badge, "case": NAMES[case.name], "done": done, "of": len(SUITE), "started_by": str(last.started_by or "")}


@require_POST
@who_may_run
def start(request: Request, store: MemoryStore) -> HttpResponse:
    """Start an evaluation."""
    form = StartForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The hub does not offer this model, so nothing was started."))
        return see_other("claude_evaluations", store.pk)
    try:
        evaluations.start(store.pk, form.cleaned_data["model"], person(request), act(request))
    except NotNow:
        messages.info(request, _("Another evaluation of this memory store goes on."))
    except evaluations.Taken:
        taken = _("The memory store has memories under %(path)s, where an evaluation writes its own.")
        messages.error(request, taken % {"path": evaluations.PLACE})
    except ToolError as error:
        messages.error(request, for_people(error))
    return see_other("claude_evaluations", store.pk)


@require_POST
@who_may_run
def stop(request: Request, store: MemoryStore) -> HttpResponse:
    """Stop the running evaluation."""
    try:
        evaluations.stop(store.pk, act(request))
    except NotNow:
        messages.info(request, _("The evaluation had already ended, or was being stopped."))
    return see_other("claude_evaluations", store.pk)


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
    count = sum(columns[-1])
    says = ngettext(
        "The last evaluation passed %(passed)s of %(count)s case.",
        "The last evaluation passed %(passed)s of %(count)s cases.",
        count,
    )
    return Picture(
        "evaluations", "bars", _("Passed cases"), says % {"passed": passed[-1], "count": count},
        [_("Evaluation"), *names.values()], table, drawn=drawn, marks=marks,
        labels=[Label((at + 0.5) * 100 / len(found), f"{one.at:%m-%d}") for at, one in enumerate(found)],
        ticks=[(tick.y, str(tick.value)) for tick in drawn.ticks],
        legend=[Series(number, name, "", "") for number, name in names.items()],
    )  # fmt: skip
