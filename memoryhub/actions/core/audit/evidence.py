"""Writes the evidence with which the audit still verifies after content was redacted or removed.

Each Redaction row has a commitment to the content of a field or a version after the redaction. The act's entry covers
these commitments; see `models.Redaction`.
"""

from collections.abc import Iterable, Sequence

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import own_texts
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.tree import Tree
from memoryhub.models import AuditEntry, MemoryVersion, Redaction
from memoryhub.pure import chain, ids


def values_of(row: Redaction, now: Sequence[object]) -> list[object]:
    """Return the values that a redaction's commitment covers.

    These are the columns of `row`, and the content of the redacted field or version after the redaction (`now`).
    """
    return [
        row.pk,
        row.chain,
        row.seq,
        row.entry_seq,
        row.field,
        row.version,
        row.memory,
        row.number,
        row.superseded_seq,
        row.original,
        *now,
    ]


def left_of(version: MemoryVersion) -> list[object]:
    """Return the values that a version still has after its redaction. The redaction's commitment covers these
    values."""
    redacted = chain.moment(version.redacted_at) if version.redacted_at else None
    left: list[object] = [
        version.path,
        version.sha256,
        version.size,
        version.operation,
        chain.moment(version.created_at),
        redacted,
    ]
    return left if version.origin is None else [*left, version.origin]


class Evidence:
    """The Redaction rows of one act: collected first, then written together."""

    def __init__(self, store: Tree) -> None:
        self.store = store
        self.rows: list[Redaction] = []
        self.fields: dict[tuple[int, str], Redaction] = {}

    def of_field(self, entry: AuditEntry, field: str) -> None:
        """Record a field's current value. An earlier record of the same field is replaced.

        Call it after the field's salt was removed.
        """
        value = getattr(entry, field)
        self._add([value], entry_seq=entry.seq, field=field, secret=value is not None)
        self.fields[entry.seq, field] = self.rows.pop()

    def of_version(self, version: MemoryVersion) -> None:
        """Record the current path and text of a version, and the other values that its own commitment covered."""
        secret = (version.path, version.sha256) != (None, None)
        place = {"version": version.pk, "memory": version.memory_id}
        self._add(left_of(version), entry_seq=version.seq, secret=secret, **place)

    def of_removed(self, version: MemoryVersion) -> None:
        """Record that a version's row was deleted."""
        self._add(
            [],
            entry_seq=version.seq,
            version=version.pk,
            memory=version.memory_id,
            number=version.number,
            superseded_seq=version.superseded_seq,
            original=version.commitment,
            secret=False,
        )

    def _add(self, now: Sequence[object], *, secret: bool, **columns: object) -> None:
        id = ids.new_id(ids.REDACTION, self.store.at)
        row = Redaction(id=id, chain=self.store.store, seq=self.store.seq, **columns)
        row.salt = chain.new_salt() if secret else None
        row.commitment = chain.redaction_commitment(row.salt, values_of(row, now))
        self.rows.append(row)

    def write(self) -> tuple[str, ...]:
        """Write the rows of the redactions. Return their commitments, which the entry of the act covers."""
        self.rows += self.fields.values()
        self._forget_older()
        rows = sorted(self.rows, key=lambda row: row.pk)
        Redaction.objects.bulk_create(rows, batch_size=500)
        return tuple(row.commitment for row in rows)

    def _forget_older(self) -> None:
        """Delete the salts of earlier redactions of the same fields and versions."""
        # With these salts, guesses at the values could be checked.
        older = Redaction.objects.of_chain(self.store.store).filter(salt__isnull=False)
        versions = [row.version for row in self.rows if row.version]
        for part in in_parts(versions):
            memories = {row.memory for row in self.rows if row.version in set(part)}
            older.filter(memory__in=memories, version__in=part).update(salt=None)
        for row in self.rows:
            if row.field:
                older.filter(entry_seq=row.entry_seq, field=row.field).update(salt=None)


def forget_answers(store: Tree, versions: Iterable[MemoryVersion], paths: dict[str, str | None]) -> None:
    """Delete the salts of answers that showed the versions, so that guesses at the versions' texts cannot be checked.

    `paths` is {version id: path of the version} (None: unknown).
    """
    versions = list(versions)
    for part in in_parts([version.pk for version in versions]):
        shown = AuditEntry.objects.of_chain(store.store).by_version(part).filter(message=None)
        for entry in shown.only(*_SALTED):
            forget_answer(entry)
    for version in versions:
        shown = AuditEntry.objects.of_chain(store.store).filter(version=version.pk, message=None)
        # The tool shows a version at its path while it is the newest; other doors show it by its id, even later.
        path = paths.get(version.pk)
        made = shown.of_seqs([version.seq])
        read = shown.at_path(path) if path is not None else shown
        read = read.between(version.seq + 1, version.superseded_seq or store.seq)
        for entry in [*made.only(*_SALTED), *read.only(*_SALTED)]:
            forget_answer(entry)


_SALTED = ("chain", "seq", "message", *proofs.COLUMNS)


def replace_field(evidence: Evidence, entry: AuditEntry, field: str, value: str | None) -> None:
    """Replace one field of an entry (None: remove its value), and delete the field's salt.

    If the field is a path or the answer, the entry's answer and its repetitions can contain the old value. So the salts
    of those answers that are not stored are deleted too (see `forget_answer`).
    """
    if field == "input":
        own_texts.count_replaced(entry, value)
    # Read again, because the redaction of another entry may have deleted some salts.
    there = AuditEntry.objects.filter(chain=entry.chain, seq=entry.seq)
    columns = {**proofs.without_salt(there.get(), field), field: value}
    there.update(**columns)
    for name, column in columns.items():
        setattr(entry, name, column)
    evidence.of_field(entry, field)
    if field in ("message", "path", "new_path"):
        forget_answer(entry)


def forget_answer(entry: AuditEntry) -> None:
    """Delete the salt of an entry's answer if the answer is not stored.

    The salts of later entries that repeated the answer are deleted too.
    """
    again = AuditEntry.objects.of_chain(entry.chain).filter(replay_of=entry.seq, message=None).only(*_SALTED)
    shown = [entry, *again] if entry.message is None else again
    for one in shown:
        if columns := proofs.without_salt(one, "message"):
            AuditEntry.objects.filter(chain=one.chain, seq=one.seq).update(**columns)
