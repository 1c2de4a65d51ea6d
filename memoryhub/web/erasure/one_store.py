"""The page that lists every place in a store that contains one of the typed texts.

The texts are passed between pages only in request bodies, and browsers must not cache the responses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memoryhub.actions.erasure import erasure
from memoryhub.actions.erasure.elsewhere import MOST_SPELLINGS
from memoryhub.models import Hold, MemoryStore, Role, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.erasure import forms, preview
from memoryhub.web.erasure.forms import BadTerms

MOST_HOLDS = 20


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
@never_cache
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """On POST, list every place that contains a ticked spelling of the texts to erase. On GET, redirect to the page
    that asks for these texts."""
    if request.method != "POST":
        return redirect(reverse("erase_everywhere", query={"store": store.pk}))
    try:
        return _list(request, store, _asked(store, request.POST, person(request)))
    except (BadTerms, ToolError) as error:
        said = in_words(error) if isinstance(error, ToolError) else str(error)
        return render(request, "erasure/one_store.html", context(request, store, problem=said))


@dataclass(frozen=True, slots=True)
class Asked:
    """The texts that a person typed, and which of their spellings are ticked."""

    subject: Sequence[str]
    terms: Sequence[str]


def _asked(store: MemoryStore, form: QueryDict, user: User) -> Asked:
    """Return the texts to list. Raises BadTerms if they are invalid, or if no listed spelling is ticked."""
    subject, ticked = form.getlist("subject"), form.getlist("term")
    if subject and not ticked:
        raise BadTerms(_("No spelling was ticked. Tick at least one spelling."))
    if subject:
        return Asked(forms.checked(subject), forms.checked(ticked, most=MOST_SPELLINGS))
    typed = forms.terms_of(form)
    return Asked(typed, erasure.spelt(store.id, typed, whole_hub=user.is_superuser))


def _list(request: Request, store: MemoryStore, asked: Asked) -> HttpResponse:
    """Show every place that an erasure would change; places under a hold come first."""
    user = person(request)
    found = erasure.search(store.id, asked.terms, timezone.now(), asked.subject, whole_hub=user.is_superuser)
    most = preview.MANY if request.POST.get("all") else preview.FEW
    held = sorted({hit.held_by for hit in found.hits if hit.held_by})
    groups = preview.groups(store.id, found, asked.terms, user, most=most)
    shows(request, store, preview.in_excerpts(groups))
    shown = context(
        request,
        store,
        terms=asked.terms,
        subject=asked.subject,
        elsewhere=preview.elsewhere(store.id, found),
        found=found,
        total=len(found.hits),
        holds=list(Hold.objects.of_store(store.id).filter(pk__in=held[:MOST_HOLDS]).select_related("owner")),
        groups=groups,
        shows_all=bool(request.POST.get("all")),
    )
    return render(request, "erasure/one_store.html", shown)
