"""One memory as it was after an entry, with links to earlier, later and current states."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.models import Memory, MemoryStore, MemoryText, MemoryVersion, Operation, Role
from memoryhub.pure.protocol import paths
from memoryhub.pure.text import visible
from memoryhub.web.common import moment_addresses as addresses, pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.moment_addresses import Scope
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_versions
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.lines import numbered_lines
from memoryhub.web.common.versions import memory_of, number_of, origins
from memoryhub.web.common.versions.removed_history import first_seq, newer_than, older_than
from memoryhub.web.history import moments
from memoryhub.web.history.moments import past


@dataclass(frozen=True, slots=True)
class Around:
    """The versions before and after the version on the page; None if there is none."""

    previous: MemoryVersion | None
    next: MemoryVersion | None


@require_safe
@in_store(Role.VIEWER)
def moment_memory(request: Request, store: MemoryStore, seq: int, memory_id: str) -> HttpResponse:
    """Show the memory's text after the entry `seq`, or say that it was deleted or did not exist yet."""
    if past.is_gone(store.id, seq):
        return moments.to_choice(store, seq, Scope(memory=memory_id))
    entry = moments.entry_of(store, seq)
    memory = memory_of(store, memory_id)
    version = past.versions_at(store.id, {memory.pk: memory.version_count}, seq).get(memory.pk)
    around = _around(memory, version, seq)
    seen = masking.shown(_content(version), masking.cover_of(store.id, memory.pk))
    content = seen.text
    shows_versions(request, store, [version])
    path = (version.path if version else None) or (around.next.path if around.next else None) or memory.path
    lines = None if content is None else numbered_lines(content, number_of(request, "first") or 1, seen.signs)
    return render(
        request,
        "history/moments/memory.html",
        moments.page(
            request,
            store,
            entry,
            Scope(memory=memory.pk),
            path=path,
            memory=memory,
            version=version,
            content=content,
            lines=lines,
            seen=seen,
            has_hidden=content is not None and visible.has_hidden(content),
            state=_state(version, store.id, memory.pk, seq),
            around=around,
            is_current=version is not None and version.pk == memory.head_id,
            steps=_steps(store.id, memory, around),
            directory_url=addresses.of_moment(store.id, seq, paths.parent(path)),
            made_by=pages.entries(store, version.seq).get(version.seq) if version else None,
            made_elsewhere=origins.of_versions([version]).get(version.pk) if version else None,
        ),
    )


def _state(version: MemoryVersion | None, store_id: str, memory_id: str, seq: int) -> str:
    """Return the state of a memory after the entry `seq`: `none`, `removed`, `deleted`, `redacted` or `there`."""
    if version is None:
        return "removed" if past.were_there(store_id, [memory_id], seq) else "none"
    if version.operation == Operation.DELETED:
        return "deleted"
    return "redacted" if version.text_id is None else "there"


def _content(version: MemoryVersion | None) -> str | None:
    if version is None or version.text_id is None:
        return None
    return MemoryText.objects.contents(version.store_id, [version.text_id]).get(version.text_id)


def _around(memory: Memory, version: MemoryVersion | None, seq: int) -> Around:
    """Return the nearest remaining versions before and after `version`.

    If `version` is None, return no version before, and the first remaining version after the entry `seq`.
    """
    if version is not None:
        return Around(older_than(memory, version.number).first(), newer_than(memory, version.number).first())
    versions = MemoryVersion.objects.of_memory(memory)
    return Around(None, versions.filter(seq__gt=seq).order_by("number").first())


def _steps(store_id: str, memory: Memory, around: Around) -> dict[str, str]:
    places = {"previous": around.previous, "next": around.next}
    first = first_seq(store_id)
    return {
        name: addresses.of_memory(store_id, version.seq, memory.pk)
        for name, version in places.items()
        if version and version.seq >= first
    }
