"""Erasing texts about one person everywhere in a store: entering them, previewing all places, and the erasure.

The texts are passed between pages only in request bodies, and responses must not be cached by the browser.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memoryhub.actions.erasure import erasure
from memoryhub.actions.erasure.elsewhere import MOST_SPELLINGS
from memoryhub.actions.erasure.erasure import Found, FoundChanged, Held
from memoryhub.models import Hold, MemoryStore, Receipt, Role
from memoryhub.protocol.errors import ToolError
from memoryhub.web.common.access import act, in_store
from memoryhub.web.common.pages import context, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.erasure import forms, preview
from memoryhub.web.erasure.forms import BadTerms, EraseForm

MOST_HOLDS = 20


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
@never_cache
@in_store(Role.ADMIN)
def erase(request: Request, store: MemoryStore) -> HttpResponse:
    """Ask for the texts, and on POST preview the places; with `step` erase and the store's name, erase them."""
    if request.method != "POST":
        return _ask(request, store)
    try:
        asked = _asked(store, request.POST)
        if request.POST.get("step") == "erase":
            return _erase(request, store, asked)
        return _list(request, store, asked, _search(store, asked))
    except (BadTerms, ToolError) as error:
        typed = [line for line in _typed(request.POST) if line]
        said = in_words(error) if isinstance(error, ToolError) else str(error)
        return _ask(request, store, "\n".join(typed), said)


def _typed(form: QueryDict) -> list[str]:
    return [form.get("terms", ""), *(form.getlist("subject") or form.getlist("term"))]


def _ask(request: Request, store: MemoryStore, typed: str = "", problem: str = "") -> HttpResponse:
    """Show the form for the texts, with an error if the typed texts are not valid."""
    receipts = Receipt.objects.filter(store=store.id).exists()
    return render(
        request,
        "erasure/erase.html",
        context(
            request,
            store,
            typed=typed,
            problem=problem,
            receipts=receipts,
            shortest=forms.SHORTEST,
        ),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """The texts that a person typed, and the selected spellings of them to erase."""

    subject: Sequence[str]
    terms: Sequence[str]


def _asked(store: MemoryStore, form: QueryDict) -> Asked:
    """Return the texts to erase. Raise BadTerms if they are invalid or nothing is ticked.

    Before the preview they have all their spellings; after it, only the ticked ones.
    """
    subject, ticked = form.getlist("subject"), form.getlist("term")
    if subject and not ticked:
        raise BadTerms(_("Nothing was erased, because no spelling was ticked. Tick at least one spelling."))
    if subject:
        return Asked(forms.checked(subject), forms.checked(ticked, most=MOST_SPELLINGS))
    typed = forms.terms_of(form)
    return Asked(typed, erasure.spelt(store.id, typed))


def _search(store: MemoryStore, asked: Asked) -> Found:
    return erasure.search(store.id, asked.terms, timezone.now(), asked.subject)


def _list(
    request: Request,
    store: MemoryStore,
    asked: Asked,
    found: Found,
    *,
    form: EraseForm | None = None,
    problem: str = "",
) -> HttpResponse:
    """Show the preview: everything that would change, with conflicting holds first."""
    most = preview.MANY if request.POST.get("all") else preview.FEW
    held = sorted({hit.held_by for hit in found.hits if hit.held_by})
    holds = list(Hold.objects.of_store(store.id).filter(pk__in=held[:MOST_HOLDS]).select_related("owner"))
    terms, spellings = asked.terms, preview.spellings(found, asked.terms)
    rows = {choice.spelling.text for choice in spellings}
    shown: dict[str, Any] = {
        "terms": terms,
        "subject": asked.subject,
        "spellings": spellings,
        "unlisted": [term for term in terms if term not in rows],
        "elsewhere": preview.elsewhere(store.id, found),
        "found": found,
        "total": len(found.hits),
        "holds": holds,
        "groups": preview.groups(store.id, found, terms, most=most),
        "shows_all": bool(request.POST.get("all")),
        "form": form or EraseForm(store, [*asked.subject, *terms]),
        "problem": problem,
    }
    return render(request, "erasure/found.html", context(request, store, **shown))


def _erase(request: Request, store: MemoryStore, asked: Asked) -> HttpResponse:
    """Erase the texts; if something has changed or the form is invalid, show the preview again and erase nothing.

    The preview must have been made for exactly the ticked texts. `shown` has the texts of the preview, so that the
    error message can say what changed; the digest covers them too.
    """
    shown = request.POST.getlist("shown")
    if shown and set(shown) != set(asked.terms):
        said = _("Nothing was erased, because you changed the ticks. This is the new list. Check it, then erase.")
        kept = EraseForm(store, [*asked.subject, *asked.terms], note=request.POST.get("note", ""))
        return _list(request, store, asked, _search(store, asked), form=kept, problem=said)
    form = EraseForm(store, [*asked.subject, *asked.terms], request.POST)
    if not form.is_valid():
        return _list(request, store, asked, _search(store, asked), form=form)
    try:
        note = act(request, form.cleaned_data["note"])
        done = erasure.erase(store.id, asked.terms, request.POST.get("digest", ""), note, asked.subject)
    except FoundChanged as changed:
        said = _(
            "Nothing was erased, because something was written since you opened this page. "
            "This is the new list. Check it, then erase."
        )
        return _list(request, store, asked, changed.found, problem=said)
    except Held:
        said = _("Nothing was erased, because a legal hold protects some of it. Release the hold first.")
        return _list(request, store, asked, _search(store, asked), problem=said)
    return see_other("receipt", store.id, done.pk)
