"""Assigning the review of a memory or of a proposal to oneself, to a colleague, or to no one."""

import json
from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_POST

from memoryhub.actions.review import assignments
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import MemoryStore, Proposal, User
from memoryhub.pure import ids
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import version_of
from memoryhub.web.proposals.rows import rows_of
from memoryhub.web.review.decide import answer_of, item_of
from memoryhub.web.review.parts import Part


@require_POST
@in_store(WHO)
def assign(request: Request, store: MemoryStore) -> HttpResponse:
    """Assign the review of a memory, and show the item. The form field `version` is the version that awaits review.

    The form field `who` is `me`, `nobody`, or `other`; for `other`, the field `to` names the person.
    """
    version = version_of(store, request.POST.get("version", ""))
    said = _("This version no longer awaits review.")
    if version.awaits_review:
        try:
            assignments.assign(store.pk, version.memory_id, _to(request), act(request))
            now = assignments.standing(store.pk).filter(memory_id=version.memory_id).first()
            said = _said(request, now.to if now else None)
        except assignments.NoReviewer:
            said = _no_reviewer()
    if not request.htmx:
        messages.info(request, said)
        return see_other(next_of(request, "review"))
    answer = answer_of(request, item_of(request, version), said=said)
    others = {"versions": [], "said": "", "memory": version.memory_id, "version": version.pk}
    answer.headers["HX-Trigger"] = json.dumps({"review:decided": others})
    return answer


@require_POST
@in_store(WHO)
def assign_proposal(request: Request, store: MemoryStore, number: int) -> HttpResponse:
    """Assign a proposal, with the same form as for a version."""
    proposal, problem = get_object_or_404(Proposal, store=store, number=number), ""
    try:
        assignments.assign_proposal(store.pk, number, _to(request), act(request))
    except assignments.NoReviewer:
        problem = _no_reviewer()
    proposal.refresh_from_db()
    (heading,) = rows_of([proposal], person(request))
    if not proposal.is_open:
        problem = _("Someone has already decided about this proposal.")
    if not request.htmx:
        messages.info(request, problem or _said(request, heading.assigned))
        return see_other(next_of(request, "review"))
    shown = {"heading": heading, "here": next_of(request, "review"), "problem": problem, "may_assign": proposal.is_open}
    return render(request, "review/assign/_proposal.html", shown)


def assign_several(request: Request, parts: Sequence[Part]) -> HttpResponse:
    """Assign the reviews of several memories, and redirect to the page on which they were selected."""
    doing, to = act(request, group=ids.new_id(ids.GROUP, timezone.now())), _to(request)
    done = 0
    for part in parts:
        try:
            done += sum(assignments.assign(part.store.pk, memory, to, doing) is not None for memory in part.memories)
        except assignments.NoReviewer:
            messages.warning(request, f"{part.store.name}: {_no_reviewer()}")
    if done:
        messages.success(request, _said_of_several(request, User.objects.filter(pk=to).first(), done))
    elif not parts:
        messages.info(request, _("Nothing was done, because nothing was selected. Select something first."))
    return see_other(next_of(request, "review"))


def _said_of_several(request: Request, to: User | None, count: int) -> str:
    """Return a sentence that says who is now to review how many memories."""
    if to is None:
        said = ngettext(
            "The review of %(count)s memory is assigned to no one.",
            "The reviews of %(count)s memories are assigned to no one.", count,
        )  # fmt: skip
    elif to == person(request):
        said = ngettext(
            "The review of %(count)s memory is assigned to you.",
            "The reviews of %(count)s memories are assigned to you.", count,
        )  # fmt: skip
    else:
        said = ngettext(
            "The review of %(count)s memory is assigned to %(name)s.",
            "The reviews of %(count)s memories are assigned to %(name)s.", count,
        )  # fmt: skip
    return said % {"count": count, "name": to}


def _to(request: Request) -> str | None:
    """Return the id of the person whom the form names, or None for no one."""
    who = {"me": person(request).pk, "nobody": None}
    return who.get(request.POST.get("who", ""), request.POST.get("to", "").replace("\0", ""))


def _no_reviewer() -> str:
    return _("Nothing was done, because this person does not review in this memory store.")


def _said(request: Request, to: User | None) -> str:
    """Return a sentence that says who is now to review the memory or the proposal."""
    if to is None:
        return _("The review is assigned to no one.")
    if to == person(request):
        return _("The review is assigned to you.")
    return _("The review is assigned to %(name)s.") % {"name": to}
