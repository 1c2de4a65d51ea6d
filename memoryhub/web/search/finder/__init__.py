"""The path finder: memories of a store whose paths contain the words that a person types."""

from collections.abc import Sequence

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from memoryhub.models import Memory, MemoryStore, Role
from memoryhub.pure.text.path_index import Entry, words_of
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store, person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.search.filters import LONGEST
from memoryhub.web.search.finder import cache
from memoryhub.web.search.highlight import marked_path

MOST = 30


@require_safe
@signed_in
def find(request: Request, store_id: str) -> HttpResponse:
    """Show the page of the finder. A script, which asks after each keystroke, gets only the rows."""
    if not request.headers.get("HX-Request"):
        return _page(request, store_id)
    seq = cache.last_seq(person(request), store_id)
    if seq is None:
        raise Http404
    return HttpResponse(rows(store_id, seq, typed(request)))


@in_store(Role.VIEWER)
def _page(request: Request, store: MemoryStore) -> HttpResponse:
    seq = cache.last_seq(person(request), store.id) or 0
    shown = {"query": typed(request), "rows": rows(store.id, seq, typed(request))}
    return render(request, "search/find.html", pages.context(request, store, **shown))


def rows(store_id: str, seq: int, query: str, limit: int = MOST) -> SafeString:
    """Return, as list items, the best matches among the paths of a store. `seq` is the seq of the store's last
    entry."""
    entries = cache.paths_of(store_id, seq).find(query, limit)
    return rows_of(store_id, entries, words_of(query))


def rows_of(store_id: str, entries: Sequence[Entry], words: Sequence[str]) -> SafeString:
    """Return list items with links, which are built without a template for speed."""
    flagged = Memory.objects.flagged_among([store_id], (entry.id for entry in entries))
    badge = " " + render_to_string("review/flag/_done.html", {"flagged": True}).strip() if flagged else ""
    start = reverse("memory", args=[store_id, "-"]).removesuffix("-")
    return mark_safe(
        "".join(
            [
                f'<li class="found" data-list-item><a class="found-path row-link" href="{start}{entry.id}">'
                f"{marked_path(entry.path, words)}{badge if entry.id in flagged else ''}</a></li>"
                for entry in entries
            ]
        )
    )


def typed(request: Request) -> str:
    """Return the typed query, cut to the greatest length that is searched."""
    return request.GET.get("q", "")[:LONGEST]
