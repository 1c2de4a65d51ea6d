"""Updates since a page was loaded: new audit entries, or new versions of a memory.

Pages poll every few seconds, so each answer must be cheap: 204 if there is nothing new.
"""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from memoryhub.models import MemoryStore, MemoryVersion, Role
from memoryhub.web.audit.filters import Filter, resolved
from memoryhub.web.audit.queries import heads
from memoryhub.web.audit.rows import rows_of, visible_chains
from memoryhub.web.common import pages
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.guards.access import in_store, person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import memory_of

MOST = 100
"""The most new entries that are counted or sent."""

LOOKED_AT = 20_000
"""The most entries that are checked against a filter, starting with the newest."""

AFTER, COUNT, FIRST = "Tail-After", "Tail-Count", "Tail-First"
"""Headers: the value of `after` for the next request, the number of new entries (at most MOST, with a plus), and the
seq of the first of them."""


@require_GET
@in_store(Role.VIEWER)
def new_entries(request: Request, store: MemoryStore) -> HttpResponse:
    """Answer with a store's newest entries that match the page's filters, as table rows; 204 if there are none.

    `after` in the URL is the last seq that the page knows. A request without `after` gets no entries, only the seq to
    send as `after` the next time. With `brief`, only the number of entries is sent.
    """
    after, last = _number(request, "after"), heads([store.id]).get(store.id, 0)
    if after is None or after >= last:
        return _nothing(last)
    try:
        wanted = Filter.of(request.GET.dict(), person(request))
        target = resolved(wanted, [store.id], now=timezone.now(), zone=timezone.get_current_timezone())
    except Malformed:
        return _nothing(last)
    found = target.search.first(store.id, max(after + 1, last - LOOKED_AT + 1), last, MOST + 1)
    if not found:
        return _nothing(last)
    rows = [] if "brief" in request.GET else rows_of(found[:MOST], wanted)
    here = reverse("store_audit", args=[store.id])
    answer = _link_to_newer(request, len(found), rows=rows, here=here, filter=wanted, store=store)
    answer.headers[AFTER], answer.headers[FIRST] = str(last), str(found[:MOST][-1].seq)
    return answer


@require_GET
@signed_in
def new_anywhere(request: Request) -> HttpResponse:
    """Answer with the number of new entries in the chains that the person may see. `after` in the URL is the number of
    entries that the page knows already."""
    after, total = _number(request, "after"), sum(heads(visible_chains(person(request))).values())
    if after is None or after >= total:
        return _nothing(total)
    answer = _link_to_newer(request, total - after, rows=[], here=reverse("audit"))
    answer.headers[AFTER] = str(total)
    return answer


@require_GET
@in_store(Role.VIEWER)
def memory_news(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Answer with the author of the newest version of a memory; 204 if the person has that version open."""
    memory = memory_of(store, memory_id)
    opened = request.GET.get("version", "").replace("\0", "")
    if memory.head_id == opened:
        return HttpResponse(status=204)
    version = MemoryVersion.objects.of_memory(memory).filter(pk=opened).first()
    entry = pages.entries(store, memory.head.seq).get(memory.head.seq)
    shown = {"store": store, "memory": memory, "opened": version, "newest": memory.head, "entry": entry}
    return render(request, "memories/_news.html", shown)


def _link_to_newer(request: Request, found: int, **shown: object) -> HttpResponse:
    count = f"{MOST}+" if found > MOST else str(found)
    answer = render(request, "audit/_new.html", {"count": count, **shown})
    answer.headers[COUNT] = count
    return answer


def _nothing(last: int) -> HttpResponse:
    return HttpResponse(status=204, headers={AFTER: str(last)})


def _number(request: Request, name: str) -> int | None:
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None
