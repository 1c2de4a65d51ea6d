"""How far an import, a merge, a retention run, a session or another act is undone, as pages show it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history.undone import undoing, undone_in_force
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion
from memoryhub.web.common import pages


@dataclass(frozen=True, slots=True)
class Undone:
    """How far an act is undone: `of` is the number of its versions, and `count` of them are undone.

    An act can be undone in several parts. `entry` is the audit entry of the newest undo that is in force.
    """

    entry: AuditEntry
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of


def undone_of(store: MemoryStore, seqs: Collection[int]) -> dict[int, Undone]:
    """Return {seq of an entry: its undo} for those of the given entries that are undone, in whole or in part."""
    found = undoing(store.pk, seqs) if seqs else {}
    entries = pages.entries(store, *(one.seq for one in found.values())) if found else {}
    return {seq: Undone(entries[one.seq], one.count, one.of) for seq, one in found.items() if one.seq in entries}


def undo_of(store: MemoryStore, versions: Sequence[str]) -> Undone | None:
    """Return how far the given versions are undone. Return None if none of them is undone."""
    rows: list[tuple[str, str, int]] = []
    for part in in_parts(versions):
        rows += MemoryVersion.objects.among(store.pk, part).values_list("pk", "memory_id", "seq")
    if not rows:
        return None
    of_memories = {pk: memory for pk, memory, _ in rows}
    by = undone_in_force(store.pk, of_memories, min(seq for *_rest, seq in rows))
    undos = [by[pk] for pk in of_memories if pk in by]
    entry = pages.entries(store, max(undos)).get(max(undos)) if undos else None
    return Undone(entry, len(undos), len(of_memories)) if entry else None
