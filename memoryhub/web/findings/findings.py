"""The lists of findings: of all stores of a person, or of one store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import FindingState, MemoryStore, Role
from memoryhub.web.common import pages
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.filters.bar import bar_of
from memoryhub.web.common.guards.access import in_store, person, signed_in
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.findings.filters import Filter, named, resolved
from memoryhub.web.findings.queries import NOTHING, page
from memoryhub.web.findings.rows import in_rows, items_of
from memoryhub.web.review.inbox import visible_stores


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab for a state of findings, with the query string of the page that lists the findings in this state."""

    state: FindingState
    label: str
    query: str
    is_current: bool


@require_safe
@signed_in
def findings(request: Request) -> HttpResponse:
    """List the findings of all stores that a person may see."""
    return render(
        request, "findings/findings.html", _shown(request, visible_stores(person(request)), reverse("findings"))
    )


@require_safe
@in_store(Role.VIEWER)
def store_findings(request: Request, store: MemoryStore) -> HttpResponse:
    """List the findings of one store."""
    shown = _shown(request, [store.pk], reverse("store_findings", args=[store.pk]), hidden=["store"])
    return render(request, "findings/store.html", pages.context(request, store, **shown))


def _shown(request: Request, stores: Sequence[str], here: str, hidden: Sequence[str] = ()) -> dict[str, Any]:
    """Return the template context of a list; a malformed filter finds nothing and shows an error."""
    parameters = request.GET.dict()
    wanted, found, problem = Filter.as_typed(parameters), NOTHING, ""
    try:
        wanted = Filter.of(parameters, person(request))
        found = page(resolved(wanted, stores), request.GET.get("before", ""))
    except Malformed as malformed:
        problem = str(malformed)
    except BadPlace:
        problem = _("This link is out of date. Start again from the newest.")
    items = items_of(found.ids, person(request), timezone.now())
    shows_of_stores(request, in_rows(items))
    return {
        **bar_of(wanted, parameters, named(wanted, stores), user=person(request), here=here, hidden=hidden),
        "items": items,
        "problem": problem,
        "page": found,
        "next": found.next and wanted.query(before=found.next),
        "is_first": not request.GET.get("before"),
        "may_decide": any(item.may_decide for item in items),
        "tabs": _tabs(wanted),
        "here": request.get_full_path(),
    }


def _tabs(wanted: Filter) -> list[Tab]:
    return [
        Tab(state, str(state.label), replace(wanted, state=state).query(), state == wanted.state)
        for state in FindingState
    ]
