"""Erasing texts about a person from the stores that the user administers: a search and a confirmation.

The texts are passed between pages only in request bodies, and browsers must not cache the responses.
"""

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.erasure import erasure, several
from memoryhub.actions.erasure.elsewhere import TooLong
from memoryhub.actions.erasure.several import Planned
from memoryhub.models import MemoryStore, Role, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.spellings import SHORTEST
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.guards.second import counted, guard, note_of
from memoryhub.web.common.pages import May
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.erasure import collected, forms, letter
from memoryhub.web.erasure.asked import Asked, BadAsked, Searched
from memoryhub.web.erasure.everywhere import rows
from memoryhub.web.erasure.forms import BadTerms, ConfirmForm

SECONDS = 8.0
"""The seconds for which one request searches. Stores that were not reached are searched when the person goes on."""

MOST_TICKED = 200
"""The most stores that are ticked by default. If there are more, none is ticked, because a form has a limited number of
fields."""

SECONDS_OF_ERASING = 20.0
"""After this many seconds, a request does not begin to erase in another store."""

Stores = dict[str, MemoryStore]


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
@never_cache
@signed_in
def erase_everywhere(request: Request) -> HttpResponse:
    """Ask for the texts and the stores. On POST, show the places with the texts; with `step=erase`, erase the texts."""
    stores = {store.id: store for store in MemoryStore.objects.administered_by(person(request)).by_name()}
    if not stores:
        raise PermissionDenied
    if request.method != "POST":
        return _ask(request, stores)
    try:
        if not request.POST.get("asked"):
            return _list(request, stores, _new(request.POST, stores))
        return _answer(request, stores, Asked.read(request.POST["asked"], person(request)))
    except BadAsked:
        return _ask(request, stores, problem=_("This list is out of date. Type the texts again."))
    except (BadTerms, ToolError) as error:
        said = in_words(error) if isinstance(error, ToolError) else str(error)
        return _ask(request, stores, problem=said)


def _ask(request: Request, stores: Stores, problem: str = "") -> HttpResponse:
    """Show the form for the texts and the stores, with an error if the submitted values are invalid."""
    asked = [store for store in request.GET.getlist("store") if store in stores]
    chosen = request.POST.getlist("store") or asked or (list(stores) if len(stores) <= MOST_TICKED else [])
    alone = stores[asked[0]] if len(asked) == 1 else None
    shown: dict[str, Any] = {
        "alone": alone,
        "is_long": len(stores) > MOST_TICKED,
        "typed": request.POST.get("terms", ""),
        "choices": [(store, store.id in chosen) for store in stores.values()],
        "problem": problem,
        "shortest": SHORTEST,
    }
    if alone:
        shown |= {"store": alone, "role": Role.ADMIN, "may": May.of(Role.ADMIN, alone)}
    return render(request, "erasure/everywhere/page.html", shown)


def _new(form: QueryDict, stores: Stores) -> Asked:
    """Return the request from the first form. Raise BadTerms if the form is invalid."""
    chosen = [store for store in form.getlist("store") if store in stores]
    if "choose" in form and not chosen:
        raise BadTerms(_("Tick at least one memory store."))
    return Asked.new(forms.terms_of(form), chosen or list(stores), timezone.now())


def _answer(request: Request, stores: Stores, listed: Asked) -> HttpResponse:
    """Do what the pressed button asks, with the current ticks: search, erase, or download the archive.

    Show the list again if the person no longer administers one of the stores, or if stores must be searched again
    because of the ticks.
    """
    form, before = request.POST, listed.among(stores)
    ticks = (set(form.getlist(name)) for name in ("term", "near", "store"))
    asked = before.ticked(*ticks)
    if before != listed:
        said = _(
            "Nothing was erased, because you no longer administer every memory store of the list. "
            "This is the new list. Check it, then erase."
        )
        return _list(request, stores, asked, problem=said) if asked.stores else _ask(request, stores, said)
    if form.get("step") not in ("erase", "collect"):
        return _list(request, stores, asked.without_held())
    if asked.subject != before.subject or asked.searched.keys() != before.searched.keys():
        said = _("Nothing was done, because you changed the ticks. This is the new list. Check it, then go on.")
        return _list(request, stores, asked, problem=said)
    return _collect(request, stores, asked) if form["step"] == "collect" else _confirmed(request, stores, asked)


def _collect(request: Request, stores: Stores, asked: Asked) -> HttpResponse:
    """Send an archive of everything with the ticked spellings.

    If a store was not searched yet, search further and show the list instead. If no ticked store contains one of the
    texts, show the list with an error instead.
    """
    if asked.unsearched:
        return _list(request, stores, asked)
    if not collected.chosen(asked):
        said = _("Nothing was downloaded, because no memory store was ticked.")
        return _list(request, stores, asked, problem=said, goes_on=False)
    return collected.answer(asked, stores, person(request), partial(act, request, group=asked.group))


def _confirmed(request: Request, stores: Stores, asked: Asked) -> HttpResponse:
    """Erase if the confirmation is right and a store is ticked. If not, show the list again."""
    form = request.POST
    confirmed = ConfirmForm([*asked.subject, *(one.text for one in asked.spellings)], form)
    if not confirmed.is_valid():
        return _list(request, stores, asked, form=confirmed, goes_on=False)
    if not asked.to_erase():
        said = _("Nothing was erased, because no memory store was ticked.")
        return _list(request, stores, asked, form=confirmed, problem=said, goes_on=False)
    note = confirmed.cleaned_data["note"]
    return guard(request, "erase", lambda: _words(stores, asked, note)) or _erase(request, stores, asked, note)


def _words(stores: Stores, asked: Asked, note: str) -> Words:
    """Return (label, text) pairs that describe the whole erasure: the texts, the ticked spellings, the number of places
    in each store, and the note."""
    erased = [one for one in asked.spellings if asked.takes(one)]
    found = [(stores[store], asked.searched[store]) for store in asked.to_erase()]
    return [
        *((_("Text"), text) for text in asked.subject),
        *((_("Spelling"), one.text) for one in erased if one.text not in asked.subject),
        *((_("Memory store"), _places(store.name, result)) for store, result in found),
        *note_of(note),
    ]


def _places(name: str, result: Searched) -> str:
    said = ngettext("%(name)s: %(count)s place", "%(name)s: %(count)s places", result.places)
    return said % {"name": name, "count": counted(result.places)}


def _searched(asked: Asked, stores: Stores, user: User) -> Asked:
    """Search the stores that are not searched yet, small stores first, for at most SECONDS.

    If the search of a single store would take longer, this store is added to `large`. If the request has only one
    store, there is no limit.
    """
    until, at = math.inf if len(asked.stores) == 1 else time.monotonic() + SECONDS, timezone.now()
    found, large = dict(asked.searched), list(asked.large)
    order = sorted(asked.unsearched, key=lambda store: stores[store].memory_count)
    for number, store in enumerate(order):
        if number and time.monotonic() >= until:
            break
        try:
            survey = erasure.survey(store, asked.subject, asked.takes, at, until, whole_hub=user.is_superuser)
            found[store] = Searched.of(*survey)
        except TooLong:
            if number:
                break
            large.append(store)
    return replace(asked, searched=found, large=tuple(large))


def _list(
    request: Request,
    stores: Stores,
    asked: Asked,
    *,
    form: ConfirmForm | None = None,
    problem: str = "",
    goes_on: bool = True,
) -> HttpResponse:
    """Show the places found so far. With `goes_on`, search further stores first."""
    asked = _searched(asked, stores, person(request)) if goes_on else asked
    if form is None:
        form = ConfirmForm(asked.subject, note=request.POST.get("note", ""))
    shown: dict[str, Any] = rows.of(asked, stores) | {
        "asked": asked.written(person(request)),
        "subject": asked.subject,
        "form": form,
        "problem": problem,
        "only": stores[asked.stores[0]] if len(asked.stores) == 1 else None,
    }
    return render(request, "erasure/everywhere/found.html", shown)


def _erase(request: Request, stores: Stores, asked: Asked, note: str) -> HttpResponse:
    """Erase the ticked spellings from each ticked store, and show the letter."""
    planned = [Planned(id, asked.searched[id].terms, asked.searched[id].digest) for id in asked.to_erase()]
    doing = partial(act, request, note, asked.group)
    until = time.monotonic() + SECONDS_OF_ERASING
    outcomes = several.erase_in_turn(planned, asked.subject, doing, until, whole_hub=person(request).is_superuser)
    return letter.after(request, stores, asked, outcomes)
