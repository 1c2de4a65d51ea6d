"""Dismissing findings with a reason, or reopening them, one or many at once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.findings.findings import decide
from memoryhub.models import Finding, FindingState, MemoryStore, Role
from memoryhub.pure import ids
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, in_store, person, signed_in
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.common.tool_errors import why_not
from memoryhub.web.findings.rows import in_rows, items_of
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.items import roles_in

STATES = {"dismiss": FindingState.DISMISSED, "reopen": FindingState.OPEN}
MOST = 100
"""The most findings that one request decides about."""


@require_POST
@in_store(Role.CURATOR)
def decide_findings(request: Request, store: MemoryStore) -> HttpResponse:
    """Decide about findings of one store."""
    return _decided(request, [store.pk])


@require_POST
@signed_in
def decide_all_findings(request: Request) -> HttpResponse:
    """Decide about findings of several stores, with one audit entry for each store."""
    return _decided(request, visible_stores(person(request)))


def _decided(request: Request, stores: Sequence[str]) -> HttpResponse:
    """Decide about the findings that the form names. Before a dismissal, ask for a reason."""
    name, _colon, one = request.POST.get("one", "").partition(":")
    decision = name or request.POST.get("decision", "")
    if decision not in STATES:
        return HttpResponseBadRequest(_("There is no such decision."))
    chosen = _chosen([one] if one else request.POST.getlist("finding"))
    if not chosen:
        messages.info(request, _("Nothing was done, because nothing was selected. Select something first."))
        return see_other(next_of(request, "findings"))
    found = _mine(request, chosen, stores)
    note = request.POST.get("note", "").strip()
    if decision == "dismiss" and (not note or len(note) > LONGEST_NOTE):
        return _ask(request, [id for of_store in found.values() for id in of_store], note)
    _do(request, found, STATES[decision], note[:LONGEST_NOTE])
    return see_other(next_of(request, "findings"))


def _chosen(named: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(id for id in named if id.startswith(ids.FINDING) and "\0" not in id))[:MOST]


def _mine(request: Request, chosen: Sequence[str], stores: Sequence[str]) -> Mapping[str, list[str]]:
    """Return {store: ids} of the findings in `chosen` that the person may decide. Raises PermissionDenied if there are
    none."""
    by_store: dict[str, list[str]] = defaultdict(list)
    rows = Finding.objects.filter(pk__in=chosen, store_id__in=stores).order_by("store_id", "id")
    for store, id in rows.values_list("store_id", "pk"):
        by_store[store].append(id)
    user = person(request)
    if user.is_superuser or not by_store:
        return by_store
    roles = roles_in(user, by_store)
    mine = {store: found for store, found in by_store.items() if roles[store].includes(Role.CURATOR)}
    if not mine:
        raise PermissionDenied
    return mine


def _ask(request: Request, chosen: Sequence[str], note: str) -> HttpResponse:
    """Ask for the reason of a dismissal, which the audit keeps."""
    problem = ""
    if len(note) > LONGEST_NOTE:
        problem = _("The reason is too long. Use at most 1,000 characters.")
    elif request.POST.get("asked"):
        problem = _("Give a reason, so that others understand the decision later.")
    items = items_of(chosen, person(request), timezone.now())
    shows_of_stores(request, in_rows(items))
    return render(
        request,
        "findings/dismiss.html",
        {
            "items": items,
            "note": note,
            "problem": problem,
            "next": next_of(request, "findings"),
            "action": request.path,
        },
    )


def _do(request: Request, found: Mapping[str, Sequence[str]], state: FindingState, note: str) -> None:
    now = timezone.now()
    doing = act(request, note, group=ids.new_id(ids.GROUP, now) if len(found) > 1 else None)
    done = 0
    for store, findings in found.items():
        try:
            done += decide(store, findings, state, note, doing)
        except (ToolError, NoSuchStore) as error:
            messages.error(request, why_not(error))
    _add_message(request, state, done)


def _add_message(request: Request, state: FindingState, done: int) -> None:
    if not done:
        messages.info(request, _("Nothing was done, because someone had already decided this."))
        return
    said: dict[Any, str] = {
        FindingState.DISMISSED: ngettext("Dismissed %(count)s finding.", "Dismissed %(count)s findings.", done),
        FindingState.OPEN: ngettext("%(count)s finding is open again.", "%(count)s findings are open again.", done),
    }
    messages.success(request, said[state] % {"count": done})
