"""Assigning the review of a memory: to oneself, to a colleague, or to no one."""

import json

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub.actions.review import assignments
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import MemoryStore
from memoryhub.web.common.access import act, in_store, person
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import version_of
from memoryhub.web.review.decide import answer_of, item_of


@require_POST
@in_store(WHO)
def assign(request: Request, store: MemoryStore) -> HttpResponse:
    """Assign the review of a version's memory (`who`: me, nobody, or other with the person `to`); show the item."""
    version = version_of(store, request.POST.get("version", ""))
    who = {"me": person(request).pk, "nobody": None}
    to = who.get(request.POST.get("who", ""), request.POST.get("to", "").replace("\0", ""))
    said = _("This version no longer awaits review.")
    if version.awaits_review:
        try:
            assignments.assign(store.pk, version.memory_id, to, act(request))
            said = _said(request, store.pk, version.memory_id)
        except assignments.NoReviewer:
            said = _("Nothing was done, because this person does not review in this memory store.")
    if not request.htmx:
        messages.info(request, said)
        return see_other(next_of(request, "review"))
    answer = answer_of(request, item_of(request, version), said=said)
    others = {"versions": [], "said": "", "memory": version.memory_id, "version": version.pk}
    answer.headers["HX-Trigger"] = json.dumps({"review:decided": others})
    return answer


def _said(request: Request, store_id: str, memory_id: str) -> str:
    """Return a sentence on who is to review the memory now."""
    one = assignments.standing(store_id).filter(memory_id=memory_id).first()
    if one is None:
        return _("The review is assigned to no one.")
    if one.to_id == person(request).pk:
        return _("The review is assigned to you.")
    return _("The review is assigned to %(name)s.") % {"name": one.to}
