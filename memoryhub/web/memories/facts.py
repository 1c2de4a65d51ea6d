"""Facts about a memory, shown beside its text: who created, changed and read it, and its last text."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404

from memoryhub.models import Agent, AuditEntry, Memory, MemoryStore, MemoryVersion
from memoryhub.web.common import pages
from memoryhub.web.common.versions import origins, writers
from memoryhub.web.common.versions.origins import Origin


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a memory."""

    created: AuditEntry | None  # the entry of the first version
    changed: AuditEntry | None  # the entry of the newest version
    read: AuditEntry | None  # the entry of the last read by an agent
    creator: Origin | None = None  # the author of the first version, if it was imported
    changer: Origin | None = None  # the author of the newest version, if it was imported
    agents: Sequence[Agent] = ()  # the agents that wrote the memory, if there are several


def find(store: MemoryStore, memory_id: str, *, live: bool = True) -> Memory:
    """Return a memory of the store; with `live=False`, it may be in the trash. Raise Http404 if there is none."""
    memories = Memory.objects.filter(store=store, pk=memory_id).select_related("text", "head")
    memory = (memories.live() if live else memories).first()
    if memory is None:
        raise Http404
    return memory


def content(memory: Memory) -> str | None:
    """Return the current text, or for a deleted memory the last one; None if that text was redacted."""
    return memory.text.content if memory.text_id else None


def of(memory: Memory) -> Facts:
    """Return the facts of a memory loaded by `find`."""
    versions = MemoryVersion.objects.of_memory(memory)
    first = versions.filter(number=1).first()  # None if that version was removed
    seq, head = first.seq if first else 0, memory.head
    by_seq = pages.entries(memory.store, seq, head.seq, memory.last_read_seq)
    imported = origins.of_versions([first, head])
    return Facts(
        by_seq.get(seq),
        by_seq.get(head.seq),
        by_seq.get(memory.last_read_seq or 0),
        imported.get(first.pk) if first else None,
        imported.get(head.pk),
        _several_agents(memory),
    )


def _several_agents(memory: Memory) -> list[Agent]:
    ids = writers.agents_of(memory.store_id, [memory.pk]).get(memory.pk, set())
    return list(Agent.objects.filter(pk__in=ids).by_name()) if len(ids) > 1 else []


def last_with_text(memory: Memory) -> MemoryVersion | None:
    """Return the newest version of a memory that has a text, or None."""
    return MemoryVersion.objects.of_memory(memory).filter(text__isnull=False).newest().first()
