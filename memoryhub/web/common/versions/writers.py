"""Which agents wrote the versions of memories."""

from collections.abc import Sequence

from django.db.models import F, OuterRef, Subquery

from memoryhub.models import AuditEntry, MemoryVersion
from memoryhub.models.audit import ActorKind

LOOK_BACK = 500
"""The most versions of a memory, the newest ones, whose authors are looked up."""


def agents_of(store_id: str, memories: Sequence[str]) -> dict[str, set[str]]:
    """Return {memory: ids of the agents that wrote its newest versions}. Memories without such an agent are left
    out."""
    entry = AuditEntry.objects.filter(chain=OuterRef("store_id"), seq=OuterRef("seq"), actor_kind=ActorKind.KEY)
    newest = MemoryVersion.objects.filter(
        store_id=store_id, memory_id__in=memories, number__gt=F("memory__version_count") - LOOK_BACK
    )
    written = newest.annotate(agent=Subquery(entry.values("author_id")[:1])).exclude(agent=None)
    found: dict[str, set[str]] = {}
    for memory, agent in written.order_by().values_list("memory_id", "agent").distinct():
        found.setdefault(memory, set()).add(agent)
    return found
