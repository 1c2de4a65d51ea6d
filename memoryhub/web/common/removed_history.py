"""What retention has removed of a memory's versions and of the beginning of a chain, as pages tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.models import AuditChain, AuditEntry, Memory, MemoryVersion, Redaction
from memoryhub.models.memories import MemoryVersionQuerySet


@dataclass(frozen=True, slots=True)
class Gap:
    """Versions of a memory that are gone, from `first` to `last`, and the entry that tells of it.

    `entry` is null where the audit does not go back as far as that.
    """

    first: int
    last: int
    entry: AuditEntry | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Start:
    """Where a chain starts: its entries up to and with `seq` were removed, the last of them at the moment `at`."""

    seq: int
    at: datetime | None

    @property
    def first(self) -> int:
        """The seq of the first entry that is left."""
        return self.seq + 1


def start_of(chain: str) -> Start | None:
    """Null where the chain has its first entry."""
    row = AuditChain.objects.filter(pk=chain, start_seq__gt=0).values_list("start_seq", "start_at").first()
    return Start(*row) if row else None


def first_seq(chain: str) -> int:
    """The seq of the first entry that a chain has; 1 where nothing was removed."""
    start = start_of(chain)
    return start.first if start else 1


# ------------------------------------------------------------------------------------------------ versions


def gaps_between(numbers: Sequence[int], low: int = 0) -> list[Gap]:
    """What is missing between numbers in falling order, and between the last of them and `low`, which is there or 0."""
    pairs = zip(numbers, [*numbers[1:], low], strict=False)
    return [Gap(end + 1, number - 1) for number, end in pairs if number - end > 1]


def told(memory: Memory, gaps: Sequence[Gap]) -> list[Gap]:
    """The gaps with the entry that tells of the removal of the last version of each."""
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
    """The versions before a number, the newest first: the one just before it may be gone."""
    return MemoryVersion.objects.of_memory(memory).filter(number__lt=number).order_by("-number")


def newer_than(memory: Memory, number: int) -> MemoryVersionQuerySet:
    """The versions after a number, the oldest first."""
    return MemoryVersion.objects.of_memory(memory).filter(number__gt=number).order_by("number")


def beside(memory: Memory, number: int) -> dict[str, int | None]:
    """The numbers of the nearest versions before and after one, as `previous` and `next`."""
    sides = {"previous": older_than(memory, number), "next": newer_than(memory, number)}
    return {name: found.values_list("number", flat=True).first() for name, found in sides.items()}


def is_first(version: MemoryVersion) -> bool:
    """Whether nothing was there before: of another version without one before it that one has been removed."""
    return version.number == 1


def no_version(memory: Memory, written: str) -> str:
    """A sentence on why there is no version with a number that somebody wrote."""
    words: dict[str, Any] = {"version": written}
    if written.isascii() and written.isdigit() and 0 < int(written[:18]) <= memory.version_count:
        return _("Version %(version)s has been removed by the retention policy.") % words
    return _("This memory has no version “%(version)s”.") % words


def were_removed(gap: Gap) -> str:
    """A gap as the beginning of a sentence."""
    words = {"first": gap.first, "last": gap.last}
    one, many = _("Version %(first)s was removed"), _("Versions %(first)s to %(last)s were removed")
    return (one if gap.count == 1 else many) % words


# ------------------------------------------------------------------------------------------------ entries


def starts_here(start: Start) -> str:
    """The end of a list of entries, where it is not the beginning of everything."""
    words = ngettext(
        "The audit starts here: %(count)s earlier entry was removed.",
        "The audit starts here: %(count)s earlier entries were removed.",
        start.seq,
    )
    return words % {"count": f"{start.seq:,}"}


def starts_at(start: Start) -> str:
    return _("The audit starts at entry %(first)s: what came before was removed by the retention policy.") % {
        "first": f"{start.first:,}"
    }
