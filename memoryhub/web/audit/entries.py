"""Lists of audit entries, newest first: of all chains that a person may see, or of one store."""

from collections.abc import Sequence
from dataclasses import replace

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.verification.entries import MOST
from memoryhub.models import MemoryStore, Role
from memoryhub.web.audit.filters import Filter, named, resolved
from memoryhub.web.audit.guesses import guesses_of
from memoryhub.web.audit.masking import not_curated
from memoryhub.web.audit.queries import FURTHER, Page, newer_page, older_page
from memoryhub.web.audit.rows import rows_of, visible_chains
from memoryhub.web.audit.unknown_authors import Unknown, unknown_author
from memoryhub.web.audit.verified import context_for
from memoryhub.web.common import pages
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.filters.bar import bar_of
from memoryhub.web.common.guards.access import in_store, person, signed_in
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import removed_history


@require_GET
@signed_in
def audit(request: Request) -> HttpResponse:
    return _answer(request, visible_chains(person(request)), None)


@require_GET
@in_store(Role.VIEWER)
def store_audit(request: Request, store: MemoryStore) -> HttpResponse:
    return _answer(request, [store.id], store)


def _answer(request: Request, chains: Sequence[str], store: MemoryStore | None) -> HttpResponse:
    """Render the list; a malformed filter finds nothing and shows an error."""
    user, parameters = person(request), request.GET.dict()
    wanted, page, problem, guesses = Filter.as_typed(parameters), Page([], None, None), "", None
    try:
        wanted = Filter.of(parameters, user)
        page = _page(request, wanted, chains)
    except Malformed as malformed:
        problem, guesses = str(malformed), guesses_of(parameters.get("q", ""), user)
    except BadPlace:
        problem = _("This link is out of date. Start again from the newest entries.")
    hidden, words = ("store",) if store else (), named(wanted, chains)
    with_hub = user.is_superuser and not store
    bar = bar_of(wanted, parameters, words, user=user, here=request.path, hidden=hidden, with_hub=with_hub)
    context = (pages.context(request, store) if store else {}) | bar
    context |= {
        "here": request.path,
        "lacks_hub": not user.is_superuser,
        "exports_unmasked": bool(set(chains) - not_curated(user, chains)),
        "rows": rows_of(page.entries, wanted),
        "newer": page.newer and _on(wanted, "after", page.newer, page),
        "older": page.older and _on(wanted, "before", page.older, page),
        "problem": problem,
        "unknown": _unknown(wanted, chains) if not page.entries and not problem else None,
        "guesses": guesses,
        "reached": page.reached,
        "is_newer": "after" in request.GET,
        "starts": _starts(chains, page),
    }
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "audit/_list.html", context)
    return render(
        request,
        "audit/entries.html",
        context | context_for(user),
    )


def _unknown(wanted: Filter, chains: Sequence[str]) -> Unknown | None:
    found = unknown_author(wanted.values, chains)
    return found and replace(found, query=wanted.query(**{found.key: found.near}))


def _page(request: Request, wanted: Filter, chains: Sequence[str]) -> Page:
    target = resolved(wanted, chains, now=timezone.now(), zone=timezone.get_current_timezone())
    most = FURTHER if "further" in request.GET else MOST
    if after := request.GET.get("after"):
        return newer_page(target.search, target.chains, after, most=most)
    return older_page(target.search, target.chains, request.GET.get("before"), most=most)


def _starts(chains: Sequence[str], page: Page) -> str:
    """Return a sentence that says how many entries were removed from the start of a chain, or "".

    Only the last page of a list of one chain has this sentence.
    """
    start = (
        removed_history.start_of(chains[0]) if len(chains) == 1 and page.older is None and not page.reached else None
    )
    return removed_history.starts_here(start) if start else ""


def _on(wanted: Filter, key: str, place: str, page: Page) -> str:
    """Return the query string of the page with newer or with older entries.

    If `key` is `after`, the page has the entries newer than `place`; if `key` is `before`, the entries older than it.
    """
    further = {"further": "1"} if page.reached else {}
    return wanted.query(**{key: place, **further})
