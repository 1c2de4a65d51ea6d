"""The comparison of two sessions: the changes from the end of one to the end of the other."""

from collections.abc import Sequence

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_safe

from memoryhub.models import AuditEntry, MemoryStore, Session
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.moment_addresses import of_changes
from memoryhub.web.common.pages import came_from
from memoryhub.web.common.request import Request
from memoryhub.web.sessions.calls import stores_of


@signed_in
@require_safe
def compare_sessions(request: Request) -> HttpResponse:
    """Redirect to the changes in one memory store between the ends of two sessions.

    The URL names the sessions (`session`, twice) and the memory store (`store`). Without `store`, the only store with
    entries of both sessions is used. If there are several such stores, the page lists them. If no comparison is
    possible, the page says why.
    """
    user, ticked = person(request), list(dict.fromkeys(request.GET.getlist("session")))
    sessions = list(Session.objects.filter(pk__in=ticked)) if len(ticked) == 2 else []
    seen = {session: found for session in sessions if (found := stores_of(session, user))}
    stores = _shared(list(seen.values()), request.GET.get("store", "")) if len(seen) == 2 else []
    places = [(store, _changes(store, sessions)) for store in stores]
    if len(places) == 1:
        return HttpResponseRedirect(places[0][1])
    shown = {
        "sessions": sessions,
        "places": places,
        "problem": _problem(len(ticked), len(seen)),
        "back": came_from(request),
    }
    return render(request, "sessions/compare.html", shown)


def _shared(of_sessions: Sequence[Sequence[MemoryStore]], wanted: str) -> list[MemoryStore]:
    """Return the stores that both sessions have, or only the store `wanted` if it is one of them."""
    one, other = of_sessions
    shared = [store for store in one if store in other]
    return [store for store in shared if store.pk == wanted] or shared


def _changes(store: MemoryStore, sessions: Sequence[Session]) -> str:
    of_store = AuditEntry.objects.of_chain(store.pk)
    newest = (of_store.of_session(session.pk).newest().values_list("seq", flat=True).first() for session in sessions)
    first, last = sorted(seq or 0 for seq in newest)
    return of_changes(store.pk, first, last)


def _problem(ticked: int, seen: int) -> str:
    """Return a sentence on why there is no comparison.

    `ticked` is the number of ticked sessions; `seen` is the number of those that the person may see.
    """
    if seen == 2:
        return _("There is no memory store that you may see and in which both sessions worked.")
    if ticked in (0, 2):
        return _("Tick the two sessions to compare.")
    words = ngettext(
        "Tick two sessions to compare: only %(count)s was ticked.",
        "Tick two sessions to compare: %(count)s were ticked.",
        ticked,
    )
    return words % {"count": ticked}
