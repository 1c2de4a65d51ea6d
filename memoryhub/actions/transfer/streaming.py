"""The audit stream: which entries have been written to it, which entries are next, and which process writes them.

Each chain has a cursor: the last entry that was written. It moves after the entries were written. So after a crash,
some entries are written again, but none is left out. The stream has no entries of throw-away copies.
"""

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories import viewing
from memoryhub.models import HUB, AuditChain, AuditEntry, Installation, MemoryStore, StreamCursor
from memoryhub.pure import ocsf
from memoryhub.pure.protocol.kinds import kind_of

ENTRIES = 500
"""The most entries of one batch."""
LEASE = timedelta(seconds=30)
"""How long a process may write without claiming again. If it ends, another process goes on after this time."""

COLUMNS = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "session", "door", "command", "path",
    "new_path", "memory", "version", "duration", "group", "token", "replay_of", "key_name", "previous_hash", "hash",
)  # fmt: skip


class Batch(NamedTuple):
    """The next events of a chain, and the seq of the last entry that they cover."""

    events: list[dict[str, Any]]
    last: int


def claim(holder: str, now: datetime) -> bool:
    """Let the process `holder` write the stream for the time LEASE. Return False if another process has a lease.

    A lease that ends more than LEASE from now was made with a wrong clock, and is ignored.
    """
    free = Q(stream_holder=holder) | Q(stream_until=None) | Q(stream_until__lte=now) | Q(stream_until__gt=now + LEASE)
    with writing():
        Installation.objects.get_or_create(pk=1)
        return bool(Installation.objects.filter(free, pk=1).update(stream_holder=holder, stream_until=now + LEASE))


def behind() -> list[tuple[str, int]]:
    """Return (chain, seq) for each chain with entries to write to the stream: those after the entry `seq`."""
    cursor = StreamCursor.objects.filter(chain=OuterRef("pk")).values("seq")
    written = Greatest(Coalesce(Subquery(cursor[:1]), 0), F("start_seq"))
    chains = AuditChain.objects.annotate(written=written)
    return list(chains.filter(last_seq__gt=F("written")).order_by("pk").values_list("pk", "written"))


def next_batch(chain: str, after: int) -> Batch:
    """Return the events of the next entries of a chain. Missing entries are skipped."""
    entries = list(AuditEntry.objects.of_chain(chain).filter(seq__gt=after).oldest().in_brief()[:ENTRIES])
    if not entries:
        return Batch([], AuditChain.objects.get(pk=chain).last_seq)
    name = "Hub" if chain == HUB else MemoryStore.present.filter(pk=chain).values_list("name", flat=True).first()
    given = _given(chain, entries, ocsf.SIGN_INS if chain == HUB else (viewing.COMMAND,))
    events = [
        ocsf.event_of(
            {column: getattr(entry, column) for column in COLUMNS},
            store=name or chain, outcome=outcome_of(entry), given=given.get(entry.seq, {}),
        )
        for entry in entries
    ]  # fmt: skip
    return Batch(events, entries[-1].seq)


def outcome_of(entry: AuditEntry) -> str:
    """Return "ok", "proposed", or the kind of error of an entry that was loaded `in_brief`."""
    return "ok" if entry.ok else kind_of((getattr(entry, "message_start", None) or "")[1:]).value


def _given(chain: str, entries: list[AuditEntry], commands: Collection[str]) -> dict[int, dict[str, Any]]:
    """Return {seq: input} of the entries with one of these commands."""
    seqs = [entry.seq for entry in entries if entry.command in commands]
    inputs = AuditEntry.objects.of_chain(chain).of_seqs(seqs).values_list("seq", "input") if seqs else ()
    return {seq: json.loads(text) for seq, text in inputs if text}


def note_written(chain: str, seq: int) -> None:
    """Move the cursor of a chain forward, but never back."""
    with writing():
        if not StreamCursor.objects.filter(chain=chain, seq__lt=seq).update(seq=seq):
            StreamCursor.objects.get_or_create(chain=chain, defaults={"seq": seq})
