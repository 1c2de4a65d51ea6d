"""Compares redactions with their entries, and with the current content of the redacted fields and versions."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memoryhub.actions.core.audit.evidence import left_of, values_of
from memoryhub.models import AuditEntry, MemoryVersion, Operation, Redaction
from memoryhub.pure import chain


@dataclass(slots=True)
class Redacted:
    """The redactions that concern a range of entries."""

    # the redactions that the entry with this seq recorded
    told: dict[int, list[Redaction]] = field(default_factory=lambda: defaultdict(list))
    # the redactions in place of the removed versions of the entry with this seq
    removed: dict[int, list[Redaction]] = field(default_factory=lambda: defaultdict(list))
    of_version: dict[str, Redaction] = field(default_factory=dict)  # the newest redaction of each version
    # the newest redaction of each field (seq of the entry, name of the field)
    of_field: dict[tuple[int, str], Redaction] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # ids of redacted or removed versions that the entries showed

    def fields(self, seq: int) -> set[str]:
        """Return the names of the redacted fields of an entry."""
        return {name for name in chain.COMMITTED if (seq, name) in self.of_field}


def between(chain_id: str, first: int, last: int) -> Redacted:
    """Return the redactions that concern the entries from `first` to `last`, both included."""
    found, rows = Redacted(), Redaction.objects.of_chain(chain_id)
    for row in rows.filter(seq__gte=first, seq__lte=last).order_by("pk"):
        found.told[row.seq].append(row)
    for row in rows.filter(entry_seq__gte=first, entry_seq__lte=last).order_by("seq", "pk"):
        if row.number is not None:
            found.removed[row.entry_seq].append(row)
        elif row.field is not None:
            found.of_field[row.entry_seq, row.field] = row
        elif row.version is not None:
            found.of_version[row.version] = row
    return found


def find_gone(found: Redacted, chain_id: str, entries: Sequence[AuditEntry], there: Collection[MemoryVersion]) -> None:
    """Add to `gone` the ids of redacted or removed versions that the entries showed.

    `there` are the shown versions that still have a row.
    """
    found.gone |= {version.pk for version in there if version.redacted_seq is not None}
    present = {version.pk for version in there}
    missing = [entry for entry in entries if entry.version and entry.version not in present]
    memories = {entry.memory for entry in missing if entry.memory}
    if missing:
        redacted = Redaction.objects.of_memories(chain_id, memories).filter(version__isnull=False)
        found.gone |= {str(version) for version in redacted.values_list("version", flat=True)}


def commitments(found: Redacted, seq: int, versions: Iterable[MemoryVersion]) -> list[str]:
    """Return the commitments that an entry's digest covers.

    These are the commitments of its versions, including removed ones, and of its redactions.
    """
    made = {version.pk: version.commitment for version in versions}
    made |= {str(row.version): row.original or "" for row in found.removed[seq]}
    return [made[id] for id in sorted(made)] + [row.commitment for row in found.told[seq]]


def told_problems(found: Redacted, seq: int) -> Iterator[str]:
    """Yield a sentence for each removed version of an entry, if the redaction that records its removal was changed."""
    for row in found.removed[seq]:
        if not fits(row, []):
            yield f"the removal of version {row.version} was changed"


def version_problems(version: MemoryVersion, row: Redaction) -> Iterator[str]:
    """Yield a sentence for each problem of a redacted version. `row` is its newest redaction."""
    name = f"version {version.pk}"
    if version.salt is not None or version.redacted_seq != row.seq:
        yield f"{name} is not redacted as entry {row.seq} tells"
    if not fits(row, left_of(version)):
        yield f"what is left of {name} was changed"
    whole = version.operation != Operation.DELETED and version.text_id is None
    entry = AuditEntry.objects.filter(chain=row.chain, seq=row.seq).only("chain", "seq", "at", "actor_id").first()
    if entry is None:
        return
    if version.redacted_by != entry.actor_id or (version.redacted_at is not None) != (whole or version.path is None):
        yield f"{name} is not redacted as entry {row.seq} tells"
    elif version.redacted_at not in (None, entry.at):
        yield f"{name} was not redacted when entry {row.seq} tells"


def fits(row: Redaction, now: Sequence[object]) -> bool:
    """Return whether a redaction's commitment matches `now`, the field's or version's current values."""
    try:
        return chain.redaction_commitment(row.salt, values_of(row, now)) == row.commitment
    except ValueError:
        return False
