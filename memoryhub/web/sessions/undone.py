"""What was undone of a session: for each of its writes, and for all its writes in each memory store."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history import undo_plan
from memoryhub.actions.history.undone import COMMANDS, told_in
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Session
from memoryhub.models.audit import AuditEntryQuerySet
from memoryhub.models.memories import MemoryVersionQuerySet, Operation
from memoryhub.web.common import pages
from memoryhub.web.common.versions.undone import Undone, undone_of

MOST_WRITES = 2_000
"""The most writes of a session in a store that are checked for being undone. They are the first ones."""

MOST_CHECKED = 200
"""The most versions of a session whose undo is planned to find out whether it would change anything."""


@dataclass(frozen=True, slots=True)
class UndoneThere:
    """What was undone of a session in a store."""

    store: MemoryStore
    writes: Mapping[int, Undone]  # {seq of a write: its undo}
    entry: AuditEntry  # the entry of the newest undo
    of: int  # the number of all writes of the session
    by_several: bool  # there are earlier undos
    again: Undone | None  # the undo of the newest undo
    is_whole: bool  # nothing was left to undo after the newest undo
    brought_back: AuditEntry | None  # a later restore of a text that a memory had between the writes and the undo

    @property
    def is_over(self) -> bool:
        """Return whether nothing is left to undo."""
        return self.is_whole and self.brought_back is None

    @property
    def is_in_force(self) -> bool:
        """Return whether anything of the session is undone now."""
        return bool(self.writes) or self.is_whole


def undone_in(session: Session, stores: Sequence[MemoryStore]) -> dict[str, UndoneThere]:
    """Return {store: what was undone of the session there}, for the stores in which an undo concerned the session."""
    found = ((store, _undone_in(session, store)) for store in stores)
    return {store.pk: one for store, one in found if one}


def is_left(session: Session, store: MemoryStore, undone: UndoneThere | None) -> bool:
    """Return whether an undo of the session in a store may find anything. `undone` is what was undone of it there.

    A session with more than MOST_CHECKED versions is not checked.
    """
    if undone and undone.is_over:
        return False
    versions = undo_plan.session_versions(store.pk, session.pk, most=MOST_CHECKED)
    return len(versions) > MOST_CHECKED or undo_plan.is_left(store.pk, versions)


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
    taken = {seq: writes[seq].entry.seq if seq in writes else newest for seq in made}
    back = _brought_back(store, taken) if is_whole and not again else None
    brought_back = pages.entries(store, back).get(back) if back else None
    return UndoneThere(store, writes, entry, len(made), several, again, is_whole, brought_back)


def _left_nothing(undo: AuditEntry, acts: AuditEntryQuerySet) -> bool:
    """Return whether the `undo` of a session kept no memory as it was, and the session has written nothing after it.

    `acts` are the writes of the session.
    """
    # a write that the session took back itself then counts as undone, too
    return told_in(undo).get("kept") == [] and not acts.filter(seq__gt=undo.seq).exists()


def _brought_back(store: MemoryStore, undos: Mapping[int, int]) -> int | None:
    """Return the seq of the newest entry that brought back a text that an undo of the session had removed.

    Return None if no memory has such a text now. `undos` is {seq of a write: seq of its undo}.
    """
    spans: dict[str, tuple[int, int]] = {}  # {memory: (seq of its first write, seq of its last undo)}
    for memory, seq in _rows(MemoryVersion.objects.filter(store_id=store.pk), "seq", undos, "memory_id", "seq"):
        first, undo = spans.get(memory, (seq, 0))
        spans[memory] = min(first, seq), max(undo, undos[seq])
    later = MemoryVersion.objects.filter(store_id=store.pk, seq__gt=min(undos.values(), default=0))
    changed = {memory for memory, seq in _rows(later, "memory_id", spans, "memory_id", "seq") if seq > spans[memory][1]}
    steps: dict[str, list[tuple[int, str | None]]] = {}
    every = MemoryVersion.objects.filter(store_id=store.pk).order_by("seq")
    for memory, seq, operation, sha256 in _rows(every, "memory_id", changed, "memory_id", "seq", "operation", "sha256"):
        steps.setdefault(memory, []).append((seq, None if operation == Operation.DELETED else sha256))
    return max(filter(None, (_back_in(steps[memory], *spans[memory]) for memory in changed)), default=None)


def _back_in(steps: Sequence[tuple[int, str | None]], first: int, undo: int) -> int | None:
    """Return the seq of the version that brought back a text that an undo had removed; None if no such text is back.

    `steps` are (seq, hash of the text or None) for each version of one memory. The seq `first` is that of the memory's
    first undone write, `undo` that of its last undo.
    """
    others = {text for seq, text in steps if seq < first or seq == undo}
    written = {text for seq, text in steps if first <= seq < undo} - others - {None}
    back = None
    for seq, text in steps:
        if seq > undo and text in written:
            back = back or seq
        elif seq > undo and text in others | {None}:
            back = None
    return back


def _rows(versions: MemoryVersionQuerySet, column: str, values: Collection[Any], *columns: str) -> Iterator[Any]:
    for part in in_parts(values):
        yield from versions.filter(**{f"{column}__in": part}).values_list(*columns)


def _that_made_versions(store: MemoryStore, seqs: Collection[int]) -> list[int]:
    found = set[int]()
    for part in in_parts(seqs):
        found.update(MemoryVersion.objects.filter(store_id=store.pk, seq__in=part).values_list("seq", flat=True))
    return sorted(found)
