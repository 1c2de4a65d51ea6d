"""The start of a chain that has lost its oldest entries: its signature, and the versions that outlived these
entries."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import QuerySet

from memoryhub.actions.core.audit import seals
from memoryhub.actions.retention import removal
from memoryhub.actions.verification.rows import content_problems, readable
from memoryhub.models import AuditChain, MemoryVersion, Redaction
from memoryhub.pure import chain


@dataclass(slots=True)
class Start:
    """The last removed entry of a chain: its seq (0: none was removed) and its hash.

    `numbers` has the number of each memory's last version up to this entry.
    """

    row: AuditChain | None
    seq: int
    hash: str
    numbers: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, chain_id: str) -> "Start":
        row = AuditChain.objects.filter(pk=chain_id).first()
        if row is None or row.start_seq == 0:
            return cls(row, 0, chain.GENESIS)
        return cls(row, row.start_seq, row.start_hash or "")

    def problems(self, reviewed: Mapping[str, str]) -> Iterator[str]:
        """Yield a sentence for each problem of the start, and fill `numbers`.

        `reviewed` has the review states by version.
        """
        row = self.row
        if row is None:
            return
        signed = (row.start_hash, row.start_at, row.start_versions, row.start_seals, row.start_signature)
        if self.seq == 0:
            if any(value is not None for value in signed):
                yield "it says that entries were removed, and from none on"
            return
        if row.start_signature != removal.start_signature(row):
            yield f"the checkpoint at which it starts, after entry {self.seq}, is not signed by this hub"
            return
        yield from seals.start_problems(row)
        if row.closed_at is None:  # deleting a store also deletes what outlived its entries
            yield from self._sealed(row, reviewed)

    def _sealed(self, row: AuditChain, reviewed: Mapping[str, str]) -> Iterator[str]:
        """Yield a sentence for each problem of the versions that are older than the start of the chain: their entries
        were removed."""
        there = []
        redactions = newest_redactions(row.pk, self.seq)
        versions, gone = outlived(row)
        for version in versions.select_related("text").order_by("pk").iterator(500):
            there.append(version.pk)
            self._number(version.memory_id, version.number)
            at_start, newest = redactions.get(version.pk, (None, None))
            if version.seal != removal.seal_of(version, at_start.commitment if at_start else None):
                yield f"the seal of version {version.pk} does not fit"
            if version.review_state != reviewed.get(version.pk):
                yield f"the review state of version {version.pk} was changed"
            yield from content_problems(version, newest)
        for memory, number, version_id in gone:
            there.append(str(version_id))
            self._number(str(memory), number or 0)
        if chain.set_digest(settings.MEMORYHUB_AUDIT_KEY, there) != row.start_versions:
            yield "the versions that outlived their entries are not those that the checkpoint names"

    def _number(self, memory: str, number: int) -> None:
        self.numbers[memory] = max(self.numbers[memory], number)


def outlived(row: AuditChain) -> "tuple[QuerySet[MemoryVersion], Iterable[tuple[str | None, int | None, str | None]]]":
    """Return two values: the versions that outlived their entries, and (memory, number, version) of such versions that
    were removed later."""
    removed = Redaction.objects.of_chain(row.pk).removed().filter(entry_seq__lte=row.start_seq, seq__gt=row.start_seq)
    versions = readable(MemoryVersion).filter(store_id=row.pk, seq__lte=row.start_seq)
    return versions, removed.values_list("memory", "number", "version")


def newest_redactions(chain_id: str, start: int) -> dict[str, tuple[Redaction | None, Redaction | None]]:
    """Return {version: (its redaction at the chain's start, its newest redaction)}.

    Only redacted versions from before the start are included. The redaction at the start is the newest one with a seq
    up to `start`, or None.
    """
    found: dict[str, tuple[Redaction | None, Redaction | None]] = {}
    rows = Redaction.objects.of_chain(chain_id).filter(entry_seq__lte=start, number=None, field=None)
    for row in rows.order_by("seq", "pk"):
        at_start = row if row.seq <= start else found.get(str(row.version), (None, None))[0]
        found[str(row.version)] = (at_start, row)
    return found
