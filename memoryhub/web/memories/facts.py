"""What a page tells of a memory besides its text: who made, changed and read it, and what was there before."""

from dataclasses import dataclass

from django.http import Http404

from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion
from memoryhub.web.common import pages


@dataclass(frozen=True, slots=True)
class Facts:
    """The entries of a memory's first version, of its newest, and of an agent's last read (null: none, or unknown)."""

    created: AuditEntry | None
    changed: AuditEntry | None
    read: AuditEntry | None


def find(store: MemoryStore, memory_id: str, *, live: bool = True) -> Memory:
    """A memory of the store, in the trash only where that is asked for; else 404."""
    memories = Memory.objects.filter(store=store, pk=memory_id).select_related("text", "head")
    memory = (memories.live() if live else memories).first()
    if memory is None:
        raise Http404
    return memory


def content(memory: Memory) -> str | None:
    """The text that it has, or had before it was deleted; null where it was redacted."""
    return memory.text.content if memory.text_id else None


def of(memory: Memory) -> Facts:
    """The facts of a memory that `find` has found."""
    versions = MemoryVersion.objects.of_memory(memory)
    first = versions.filter(number=1).values_list("seq", flat=True).first()  # null too where it has been removed
    told = pages.entries(memory.store, first, memory.head.seq, memory.last_read_seq)
    return Facts(told.get(first or 0), told.get(memory.head.seq), told.get(memory.last_read_seq or 0))


def last_with_text(memory: Memory) -> MemoryVersion | None:
    """The version that restoring a deleted memory brings back."""
    return MemoryVersion.objects.of_memory(memory).filter(text__isnull=False).newest().first()
