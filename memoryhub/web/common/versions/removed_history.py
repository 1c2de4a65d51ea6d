"""Versions of a memory and entries of a chain that retention has removed, as pages describe them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core.plans import in_parts
from memoryhub.models import AuditChain, AuditEntry, Memory, MemoryVersion, Redaction
from memoryhub.models.memories import MemoryVersionQuerySet


@dataclass(frozen=True, slots=True)
class Gap:
    """The removed versions `first` to `last` of a memory."""

    first: int
    last: int
    entry: AuditEntry | None = None  # the entry of the removal; None if it was not looked up, or was removed too

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a chain whose entries up to `seq` were removed. `at` is the time of the last removed entry."""

    seq: int
    at: datetime | None

    @property
    def first(self) -> int:
        """Return the seq of the first entry that remains."""
        return self.seq + 1


def start_of(chain: str) -> Start | None:
    """Return the start of a chain, or None if no entry of it was removed."""
    row = AuditChain.objects.filter(pk=chain, start_seq__gt=0).values_list("start_seq", "start_at").first()
    return Start(*row) if row else None


def first_seq(chain: str) -> int:
    """Return the seq of the first remaining entry of a chain; 1 if none was removed."""
    start = start_of(chain)
    return start.first if start else 1


# ------------------------------------------------------------------------------------------------ versions


def gaps_between(numbers: Sequence[int], low: int = 0) -> list[Gap]:
    """Return the gaps between the version numbers in `numbers`, which are descending.

    A gap between the last of them and `low` is returned too. `low` is the number of the next older existing version,
    or 0 if there is none.
    """
    pairs = zip(numbers, [*numbers[1:], low], strict=False)
    return [Gap(end + 1, number - 1) for number, end in pairs if number - end > 1]


def with_entries(memory: Memory, gaps: Sequence[Gap]) -> list[Gap]:
    """Return the gaps, each with the entry that removed its last version."""
    if not gaps:
        return []
    gone = Redaction.objects.of_memories(memory.store_id, [memory.pk]).filter(number__in=[gap.last for gap in gaps])
    seqs = dict(gone.values_list("number", "seq"))
    columns = ("chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "command")
    entries = {
        entry.seq: entry for entry in AuditEntry.objects.of_chain(memory.store_id).of_seqs(seqs.values()).only(*columns)
    }
    return [Gap(gap.first, gap.last, entries.get(seqs.get(gap.last, 0))) for gap in gaps]


def older_than(memory: Memory, number: int) -> MemoryVersionQuerySet:
    """Return the existing versions with a number below `number`, newest first."""
    return MemoryVersion.objects.of_memory(memory).filter(number__lt=number).order_by("-number")


def newer_than(memory: Memory, number: int) -> MemoryVersionQuerySet:
    """Return the versions after a number, oldest first."""
    return MemoryVersion.objects.of_memory(memory).filter(number__gt=number).order_by("number")


def beside(memory: Memory, number: int) -> dict[str, int | None]:
    """Return the numbers of the nearest existing versions before and after `number`, as `previous` and `next`; None if
    there is none."""
    sides = {"previous": older_than(memory, number), "next": newer_than(memory, number)}
    return {name: found.values_list("number", flat=True).first() for name, found in sides.items()}


def is_first(version: MemoryVersion) -> bool:
    """Return whether this is version 1.

    Any other version had a previous one, which may have been removed.
    """
    return version.number == 1


MOST_READ, MOST_NAMED = 1_000, 20
"""The most memories with lost versions that are looked up, and the most that are named."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What was removed of a series of entries: versions that the entries made, and maybe some of the entries."""

    memories: Sequence[Memory] = ()  # existing memories that have lost such versions
    more: bool = False  # there are further such memories
    entries: bool = False  # some of the entries may have been removed, too

    def __bool__(self) -> bool:
        return bool(self.memories) or self.entries


def lost_of(store_id: str, seqs: Iterable[int], since: datetime | None = None) -> Lost:
    """Return the memories that have lost versions made by the entries `seqs`.

    If `since`, the time of the first of these entries, is given, the result also says whether some of the entries may
    have been removed.
    """
    lost: set[str] = set()
    gone = Redaction.objects.of_chain(store_id).removed()
    for part in in_parts(seqs):
        memories = gone.filter(entry_seq__in=part).values_list("memory", flat=True)
        lost.update(memory for memory in memories if memory)
    there = list(Memory.objects.among(store_id, sorted(lost)[:MOST_READ]).order_by("path")[: MOST_NAMED + 1])
    return Lost(there[:MOST_NAMED], len(there) > MOST_NAMED, since is not None and began_after(store_id, since))


def began_after(store_id: str, moment: datetime) -> bool:
    """Return whether the oldest remaining entry of the store's chain was written after a moment. Return False if the
    chain has lost no entries."""
    left = left_since(store_id)
    return left is not None and moment < left


def left_since(store_id: str) -> datetime | None:
    """Return when the oldest remaining entry of the store's chain was written. Return None if the chain has lost no
    entries, and the latest possible time if it has lost all."""
    if start_of(store_id) is None:
        return None
    first = AuditEntry.objects.of_chain(store_id).oldest().values_list("at", flat=True).first()
    return first or datetime.max.replace(tzinfo=UTC)


def no_version(memory: Memory, written: str) -> str:
    """Return a sentence on why the memory has no version with the number that a person typed."""
    words: dict[str, Any] = {"version": written}
    if written.isascii() and written.isdigit() and 0 < int(written[:18]) <= memory.version_count:
        return _("The retention policy removed version %(version)s.") % words
    return _("This memory has no version “%(version)s”.") % words


# ------------------------------------------------------------------------------------------------ entries


def starts_here(start: Start) -> str:
    """Return the sentence at the end of a list of entries whose earlier entries were removed."""
    words = ngettext(
        "The audit starts here: %(count)s earlier entry was removed.",
        "The audit starts here: %(count)s earlier entries were removed.",
        start.seq,
    )
    return words % {"count": f"{start.seq:,}"}


def starts_at(start: Start) -> str:
    return _("The audit starts at entry %(first)s. The retention policy removed all earlier entries.") % {
        "first": f"{start.first:,}"
    }
