"""Requires a second person before an act that cannot be undone, if the hub is set to require one."""

from collections.abc import Callable
from dataclasses import replace

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.accounts import second_person
from memoryhub.actions.accounts.second_person import ACTS, Words
from memoryhub.models import MemoryStore
from memoryhub.web.common.guards.access import act, person
from memoryhub.web.common.guards.fresh import PROOF_FIELDS, cancel_address, proof
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import see_other

_OWN = (*PROOF_FIELDS, "second_reason")
LONGEST = 1000


class ReasonForm(forms.Form):
    """The reason for which a person requests an act."""

    second_reason = forms.CharField(
        label=_("Why it is needed"), max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("The second person reads it."),
    )  # fmt: skip


def guard(
    request: Request, name: str, words: Callable[[], Words], store: MemoryStore | None = None
) -> HttpResponse | None:
    """Return the page that asks for a proof or for a second person, or None if the act may be done now.

    Call it in a POST, just before the act. `name` is one of ACTS. `words` returns what will be done, as
    tuples (label, text) or (label, text, address of a page that shows more). Pass `store` if the address of the
    request does not name the store.
    """
    if (asks := proof(request)) is not None or not second_person.is_on():
        return asks
    user, path = person(request), request.path
    fields = [(key, values) for key, values in request.POST.lists() if key not in _OWN]
    wanted, changed = second_person.content(fields, words()), False
    try:
        second = second_person.use(name, path, wanted, user, act(request))
    except second_person.Changed:
        second, changed = None, True
    if second is not None:
        request.second = second
        return None
    place = request.resolver_match.kwargs.get("store_id") if request.resolver_match else None
    place = None if name in second_person.OF_ADMINISTRATORS else place or (store.pk if store else None)
    given = request.POST if "second_reason" in request.POST else None
    form = ReasonForm(given, initial={"second_reason": request.POST.get("note", "")})
    if form.is_valid():
        reason = form.cleaned_data["second_reason"].replace("\0", "\ufffd")
        made = second_person.ask(name, path, place, replace(wanted, reason=reason), act(request))
        return see_other(request, "act_request", made.pk)
    shown = {
        "form": form,
        "kept": fields,
        "came_from": cancel_address(request),
        "title": ACTS[name],
        "words": wanted.words,
        "days": second_person.OPEN_FOR.days,
    }
    shown |= {"changed": changed, "has_decider": bool(second_person.deciders(place, user.pk))}
    return render(request, "common/guards/second.html", shown)


def counted(count: int) -> str:
    """Return a number with thousands separators, for a text that `guard` shows."""
    return f"{count:,}"


def note_of(text: str) -> Words:
    """Return a form's note as words for `guard`: a list of one tuple (label, note), or an empty list without a note."""
    return [(gettext("Note"), text)] if text.strip() else []
