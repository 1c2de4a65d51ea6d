"""What was undone of a session: for each of its writes, and for all its writes in each memory store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history.undone import COMMANDS, told_in
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Session
from memoryhub.models.audit import AuditEntryQuerySet
from memoryhub.web.common import pages
from memoryhub.web.common.versions.undone import Undone, undone_of

MOST_WRITES = 2_000
"""The most writes of a session in a store that are checked for being undone. They are the first ones."""


@dataclass(frozen=True, slots=True)
class UndoneThere:
    """What was undone of a session in a store."""

    store: MemoryStore
    writes: Mapping[int, Undone]  # {seq of a write: its undo}
    entry: AuditEntry  # the entry of the newest undo
    of: int  # the number of all writes of the session
    by_several: bool  # there are earlier undos
    again: Undone | None  # the undo of the newest undo
    is_whole: bool  # nothing is left to undo

    @property
    def is_in_force(self) -> bool:
        """Return whether anything of the session is undone now."""
        return bool(self.writes) or self.is_whole


def undone_in(session: Session, stores: Sequence[MemoryStore]) -> dict[str, UndoneThere]:
    """Return {store: what was undone of the session there}, for the stores in which an undo concerned the session."""
    found = ((store, _undone_in(session, store)) for store in stores)
    return {store.pk: one for store, one in found if one}


def _undone_in(session: Session, store: MemoryStore) -> UndoneThere | None:
    acts = AuditEntry.objects.of_chain(store.pk).of_session(session.pk).filter(ok=True, command__in=WRITES)
    seqs = list(acts.oldest().values_list("seq", flat=True)[: MOST_WRITES + 1])
    undos = AuditEntry.objects.of_chain(store.pk).filter(ok=True, command__in=COMMANDS)
    if not seqs or not undos.filter(seq__gt=seqs[0]).exists():
        return None
    made = _that_made_versions(store, seqs[:MOST_WRITES])
    writes = undone_of(store, made)
    named = undos.filter(seq__gt=seqs[0], command="undo", input__contains=session.pk).newest()
    of_session = next((entry for entry in named if told_in(entry).get("session") == session.pk), None)
    newest = max([one.entry.seq for one in writes.values()], default=of_session.seq if of_session else 0)
    entry = pages.entries(store, newest).get(newest) if newest else None
    if entry is None:
        return None
    again = undone_of(store, [newest]).get(newest)
    is_whole = len(seqs) <= MOST_WRITES and sum(one.is_whole for one in writes.values()) == len(made) > 0
    if of_session and of_session.seq == newest and not again:
        is_whole = is_whole or _left_nothing(of_session, acts)
    if not (writes or again or is_whole):
        return None
    several = len({one.entry.seq for one in writes.values()}) > 1
    return UndoneThere(store, writes, entry, len(made), several, again, is_whole)


def _left_nothing(undo: AuditEntry, acts: AuditEntryQuerySet) -> bool:
    """Return whether the `undo` of a session left out no memory, and the session has written nothing since. `acts` are
    the writes of the session."""
    # a write that the session took back itself then counts as undone, too
    return told_in(undo).get("kept") == [] and not acts.filter(seq__gt=undo.seq).exists()


def _that_made_versions(store: MemoryStore, seqs: Collection[int]) -> list[int]:
    found = set[int]()
    for part in in_parts(seqs):
        found.update(MemoryVersion.objects.filter(store_id=store.pk, seq__in=part).values_list("seq", flat=True))
    return sorted(found)
