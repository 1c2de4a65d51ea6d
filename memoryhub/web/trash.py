"""The page of the memories of a store that were deleted, from where each leads to its text and the way back."""

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.models import Memory, MemoryStore, Role
from memoryhub.models.memories import MemoryQuerySet
from memoryhub.web import stores_pages
from memoryhub.web.door import in_store

SIZE = 100


@require_safe
@in_store(Role.VIEWER)
def page(request: HttpRequest, store: MemoryStore) -> HttpResponse:
    """The newest deletions, or those before the memory that `before` names."""
    before = request.GET.get("before", "")
    found = list(_trash(store, before)[: SIZE + 1])
    shown = found[:SIZE]
    told = stores_pages.entries(store, *(memory.head.seq for memory in shown))
    rows = [(memory, told.get(memory.head.seq)) for memory in shown]
    older = shown[-1].id if len(found) > SIZE else None
    return render(
        request, "stores/trash.html", stores_pages.context(request, store, rows=rows, older=older, before=before)
    )


def _trash(store: MemoryStore, before: str) -> MemoryQuerySet:
    """Those that went together stay together: a directory's memories have one moment."""
    trash = Memory.objects.in_trash().filter(store=store).select_related("head").order_by("-deleted_at", "-id")
    last = trash.filter(pk=before).first() if before else None
    if last is None:
        return trash
    return trash.filter(Q(deleted_at__lt=last.deleted_at) | Q(deleted_at=last.deleted_at, id__lt=last.id))
