"""The page on which a person tries a call of the memory tool, or makes it as an act of their own."""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.findings.findings import NeedsReason
from memoryhub.models import AuditEntry, Key, Memory, MemoryStore, Role
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import keeping
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated
from memoryhub.web.audit.entry import call_of, in_input
from memoryhub.web.audit.masking import Entries
from memoryhub.web.audit.ruled import ruled
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.memories.overrides import ask_reason
from memoryhub.web.path_rules.sentences import name_of_key
from memoryhub.web.tried import forms, outcome
from memoryhub.web.tried.forms import CallForm
from memoryhub.web.tried.outcome import Outcome

DO = "do"
MOST_KEYS = 200
"""The most keys that the form lists."""


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the form. A POST tries the call without effect; with `act=do`, it does the call, as an act of the person."""
    keys = _keys(store)
    who = _choices(request, keys)
    if request.method != "POST":
        return _page(request, store, CallForm(who, initial=_begun(request, store, keys)))
    form, result = CallForm(who, request.POST), None
    is_done = request.POST.get("act") == DO
    if is_done and request.POST.get("who"):
        form.add_error("who", _("Only the agent itself makes its calls. You can do this as yourself."))
    if is_done and store.is_archived:
        form.add_error(None, _("This memory store is archived and cannot be changed."))
    if form.is_valid():
        try:
            result = _result(request, store, form, keys, is_done=is_done)
        except NeedsReason as needed:
            ask_reason(form, needed)
    if result and result.memory and not result.is_kept_back:
        shows(request, store, Memory.objects.among(store.pk, [result.memory]).values_list("pk", "head_id"))
    return _page(request, store, form, result=result, is_done=is_done)


def _page(request: Request, store: MemoryStore, form: CallForm, **more: Any) -> HttpResponse:
    result: Outcome | None = more.get("result")
    decided = ruled(result.entry, store, result.text) if result and result.entry else None
    return render(request, "tried/call.html", pages.context(request, store, form=form, ruled=decided, **more))


def _result(request: Request, store: MemoryStore, form: CallForm, keys: Mapping[str, Key], *, is_done: bool) -> Outcome:
    given = form.cleaned_data
    key = keys.get(given["who"])
    if key is not None:
        return outcome.tried_as_key(store, key, given["call"], timezone.now())
    by, override = act(request, given["note"]), given["override"] or None
    if not is_done:
        return outcome.tried_as_person(store, given["call"], by, override)
    done = outcome.done_as_person(store, given["call"], by, override)
    if done.entry is not None:
        messages.success(request, _("Done. The audit records it as your act."))
    return done


def _keys(store: MemoryStore) -> dict[str, Key]:
    """Return {id: key} of the keys that currently work in a store, sorted by the names of their agents."""
    found = Key.objects.for_store(store).usable(timezone.now()).select_related("agent")
    return {key.pk: key for key in found.order_by("agent__folded_name", "agent_id", "pk")[:MOST_KEYS]}


def _choices(request: Request, keys: Mapping[str, Key]) -> list[tuple[str, str]]:
    me = _("You: %(name)s") % {"name": isolated(without_hidden(str(person(request))))}
    return [("", me), *((pk, isolated(without_hidden(name_of_key(key)))) for pk, key in keys.items())]


def _begun(request: Request, store: MemoryStore, keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the initial values of the form.

    If `call` in the URL is the seq of a recorded call, and the input of this call can be read, the form begins with
    this input. Otherwise, it begins with the other parameters of the URL.
    """
    seq = request.GET.get("call", "")
    found = None
    if seq.isascii() and seq.isdigit() and len(seq) < 19:
        found = AuditEntry.objects.of_chain(store.pk).filter(seq=int(seq), actor_kind=ActorKind.KEY).first()
    call = call_of(found, Entries([found])) if found else None
    if found is None or call is None:
        return forms.begun_with(request.GET)
    shows(request, store, in_input(found))
    who = found.actor_id if found.actor_id in keys else ""
    try:
        return forms.begun_with_call(keeping.parts(json.loads(call.raw))[0], who)
    except (ValueError, RecursionError):
        return forms.begun_with(request.GET)
