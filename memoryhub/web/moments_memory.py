"""One memory as it was after an entry: its text, its facts, and the ways to before, after and now."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import visible
from memoryhub.models import Memory, MemoryStore, MemoryText, MemoryVersion, Operation, Role
from memoryhub.protocol import paths
from memoryhub.web import moments, moments_past, stores_pages
from memoryhub.web import moments_addresses as addresses
from memoryhub.web.door import in_store
from memoryhub.web.memories_text import numbered_lines
from memoryhub.web.moments_addresses import Scope
from memoryhub.web.versions import memory_of, number_of


@dataclass(frozen=True, slots=True)
class Around:
    """The versions before and after the one that is shown; null where there is none."""

    previous: MemoryVersion | None
    next: MemoryVersion | None


@require_safe
@in_store(Role.VIEWER)
def moment_memory(request: HttpRequest, store: MemoryStore, seq: int, memory_id: str) -> HttpResponse:
    """The text that the memory had; where it was deleted then, or not there yet, that is said."""
    entry = moments.entry_of(store, seq)
    memory = memory_of(store, memory_id)
    version = moments_past.versions_at(store.id, {memory.pk: memory.version_count}, seq).get(memory.pk)
    around = _around(memory, version)
    content = _content(version)
    path = (version.path if version else None) or (around.next.path if around.next else None) or memory.path
    lines = None if content is None else numbered_lines(content, number_of(request, "first") or 1)
    return render(request, "moments/memory.html", moments.page(
        request, store, entry, Scope(memory=memory.pk), path=path, memory=memory, version=version, content=content,
        lines=lines, has_hidden=content is not None and visible.has_hidden(content),
        state=_state(version), around=around, is_current=version is not None and version.pk == memory.head_id,
        steps=_steps(store.id, memory, around), directory_url=addresses.of_moment(store.id, seq, paths.parent(path)),
        made_by=stores_pages.entries(store, version.seq).get(version.seq) if version else None,
    ))  # fmt: skip


def _state(version: MemoryVersion | None) -> str:
    """`none` (not there yet), `deleted`, `redacted` or `there`."""
    if version is None:
        return "none"
    if version.operation == Operation.DELETED:
        return "deleted"
    return "redacted" if version.text_id is None else "there"


def _content(version: MemoryVersion | None) -> str | None:
    if version is None or version.text_id is None:
        return None
    return MemoryText.objects.filter(pk=version.text_id).values_list("content", flat=True).first()


def _around(memory: Memory, version: MemoryVersion | None) -> Around:
    number = version.number if version else 0
    previous = moments_past.numbered(memory.store_id, memory.pk, number - 1) if number > 1 else None
    later = number < memory.version_count
    return Around(previous, moments_past.numbered(memory.store_id, memory.pk, number + 1) if later else None)


def _steps(store_id: str, memory: Memory, around: Around) -> dict[str, str]:
    places = {"previous": around.previous, "next": around.next}
    return {name: addresses.of_memory(store_id, version.seq, memory.pk) for name, version in places.items() if version}
