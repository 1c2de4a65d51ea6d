"""The lists of a store's proposals: the open ones, oldest first, or the decided ones, newest first."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import MemoryStore, Proposal, ProposalState, Role
from memoryhub.pure.text.filter_words import MINE, UNASSIGNED
from memoryhub.web.common import pages
from memoryhub.web.common.filters.marks import MarkFilter
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.pages import May
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import number_of
from memoryhub.web.proposals.afterwards import undone_of
from memoryhub.web.proposals.alike import alike
from memoryhub.web.proposals.assigned import assigned_as
from memoryhub.web.proposals.rows import rows_of

PAGE = 25
DECIDED = "decided"


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """List the open proposals; with `state=decided` in the URL, the decided ones.

    `after` is the number of the last proposal on the previous page. `is` limits the open proposals to those that are
    assigned to the person (`mine`) or to no one (`unassigned`).
    """
    is_decided = request.GET.get("state") == DECIDED
    after = number_of(request, "after")
    whose = {request.GET.get("is")} & {MINE, UNASSIGNED} if not is_decided else set()
    marks = MarkFilter(frozenset(map(str, whose)), user=person(request).pk)
    found = _decided(store, after) if is_decided else _open(store, after, marks)
    shown = found[:PAGE]
    entries, undone = pages.entries(store, *(one.seq for one in shown)), undone_of(store, shown)
    rows, may_decide = rows_of(shown), May.of(request.role, store).write and not is_decided
    return render(
        request,
        "proposals/list.html",
        pages.context(
            request,
            store,
            rows=[(row, entries.get(row.proposal.seq or 0), undone.get(row.proposal.pk)) for row in rows],
            may_decide=may_decide,
            alike=alike(rows) if may_decide else (),
            is_decided=is_decided,
            whose=_whose(marks),
            query=f"is={','.join(marks.has)}" if marks.has else "",
            is_first=after is None,
            next=shown[-1].number if len(found) > PAGE else None,
        ),
    )


def _whose(marks: MarkFilter) -> list[dict[str, Any]]:
    """Return the links that limit the list by the assigned person, and which link is the current one."""
    choices = (("", _("Everyone’s")), (MINE, _("Mine")), (UNASSIGNED, _("Unassigned")))
    return [{"is": mark, "words": words, "chosen": {mark} - {""} == marks.has} for mark, words in choices]


def _open(store: MemoryStore, after: int | None, marks: MarkFilter) -> list[Proposal]:
    """Return the open proposals whose number is greater than `after`, oldest first."""
    waiting = Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN).order_by("number")
    return list(assigned_as(waiting, [store.pk], marks).filter(number__gt=after or 0)[: PAGE + 1])


def _decided(store: MemoryStore, after: int | None) -> list[Proposal]:
    """Return the decided proposals whose number is less than `after`, newest first."""
    decided = Proposal.objects.of_store(store.pk).exclude(state=ProposalState.OPEN).order_by("-number")
    return list((decided.filter(number__lt=after) if after else decided)[: PAGE + 1])
