"""Verifies the audit: every entry, every version that it made, and all values that are derived from them."""

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import seals, to_json
from memoryhub.actions.core.hub import installation
from memoryhub.actions.core.proofs import Proof
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.memories import calls
from memoryhub.actions.stores import delete
from memoryhub.actions.verification import missing, receipts, redactions, review_states
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.actions.verification.derived import derived_problems
from memoryhub.actions.verification.older_keys import OlderKeys
from memoryhub.actions.verification.redactions import Redacted
from memoryhub.actions.verification.rows import (
    SALT,
    UNREADABLE,
    content_of,
    content_problems,
    readable,
    reraise_refusal,
    written_as_read,
)
from memoryhub.actions.verification.start import Start
from memoryhub.database import facts
from memoryhub.models import AuditChain, AuditEntry, MemoryStore, MemoryVersion, Redaction, ReviewState, Seal
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain

CHUNK = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an entry, as a sentence. `seq` is None if the problem is about the chain as a whole.

    With `is_unknown`, the problem is only that something could not be verified, because an older key was lost.
    """

    chain: str
    seq: int | None
    what: str
    is_unknown: bool = False

    def __str__(self) -> str:
        return f"{self.chain} entry {self.seq}: {self.what}" if self.seq else f"{self.chain}: {self.what}"


def chains(known: set[str]) -> list[str]:
    """Return the ids of all chains that exist or that checkpoints name (`known`)."""
    named = (AuditChain.objects.values_list("id"), MemoryStore.objects.values_list("id"), _sealing())
    return sorted(known.union(*({id for (id,) in rows} for rows in named)))


def _sealing() -> "QuerySet[Seal, tuple[str]]":
    return Seal.objects.order_by().values_list("chain").distinct()


def verify(chain_id: str, checkpoint_file: Path | None = None) -> tuple[int, Problem | None]:
    """Return how many entries of a chain are right, and its first problem or None.

    The hub may write at the same time. Raises DatabaseError if the database refuses to answer. Raises Replaced, which
    is a DatabaseError, if there is a problem and the audit key was rotated since this process read it.
    """
    by_checkpoints = checkpoint_check.check(checkpoint_file, chain_id).problems if checkpoint_file else {}
    with snapshot():
        count, problem = _verified(chain_id)
    if problem is None and chain_id in by_checkpoints:
        problem = Problem(chain_id, *by_checkpoints[chain_id])
    if problem is not None:
        installation.require_current_key()
    return count, problem


def _verified(chain_id: str) -> tuple[int, Problem | None]:
    if missing.is_gone(chain_id):
        return 0, None
    verification = _Verification(chain_id)
    problems = verification.problems()
    counted = 0
    for problem in problems:
        if isinstance(problem, Problem):
            return counted, problem
        counted = problem
    try:
        governing = itertools.chain(seals.problems(chain_id), receipts.problems(chain_id))
        for seq, what in itertools.chain(derived_problems(chain_id), governing):
            return counted, Problem(chain_id, seq, what)
    except UNREADABLE as error:
        reraise_refusal(error)
        return counted, Problem(chain_id, None, "what is derived from the entries cannot be read")
    if unknown := verification.keys.unknown():
        return counted, Problem(chain_id, None, unknown, is_unknown=True)
    return counted, None


@dataclass(frozen=True, slots=True)
class Removed:
    """How much of a chain was removed by recorded acts: redacted values, removed versions, and removed oldest
    entries."""

    values: int
    versions: int
    entries: int

    def __str__(self) -> str:
        counts = {"redacted value": self.values, "removed version": self.versions}
        counted = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count]
        if self.entries:
            counted.append(f"{self.entries} removed {'entry' if self.entries == 1 else 'entries'}")
        return ", ".join(counted)


def removed(chain_id: str) -> Removed:
    """Return how much of a chain was removed by recorded acts, as far as its redactions and its start still show
    this."""
    rows = Redaction.objects.of_chain(chain_id)
    versions = rows.removed().count()
    start = AuditChain.objects.filter(pk=chain_id).values_list("start_seq", flat=True).first()
    return Removed(rows.count() - versions, versions, start or 0)


class _Verification:
    """Verifies one chain, from its first entry to its last."""

    def __init__(self, chain_id: str) -> None:
        self.chain, self.chunk = chain_id, CHUNK
        self.start = Start.of(chain_id)
        self.keys = OlderKeys(self.start.row)
        self.seq, self.hash = self.start.seq, self.start.hash
        self.numbers = self.start.numbers
        self.redacted = Redacted()
        self.sealed: dict[int, list[Seal]] = defaultdict(list)
        self.texts: dict[str, str | None] = {}
        self.closed = AuditChain.objects.filter(pk=chain_id).values_list("closed_at", flat=True).first()
        self.reviewed = _reviewed(chain_id)

    def problems(self) -> Iterator[int | Problem]:
        """Yield every problem in order. After each batch of entries, yield how many entries have been verified so
        far."""
        for what in self._problems_of_start():
            yield Problem(self.chain, None, what)
        while entries := self._entries():
            for entry, versions in entries:
                for what in self._problems_of(entry, versions):
                    yield Problem(self.chain, self.seq + 1, what)
                self.seq, self.hash = entry.seq, entry.hash
            yield self.seq - self.start.seq
        if entries is None:
            yield Problem(self.chain, self.seq + 1, "it was changed: it, or what it made or showed, cannot be read")
            return
        head = AuditChain.objects.filter(pk=self.chain).first()
        if head is None:
            yield Problem(self.chain, None, "the chain's head is missing" if self.seq else "the chain is missing")
        elif (head.last_seq, head.last_hash) != (self.seq, self.hash):
            absent = self.seq + 1 if head.last_seq > self.seq else None
            yield Problem(self.chain, absent, "the chain's head is not its last entry")
        later = MemoryVersion.objects.filter(store_id=self.chain, seq__gt=self.seq).order_by("seq").first()
        if later:
            yield Problem(self.chain, later.seq, f"version {later.id} was made by an entry that is missing")
        sealed = Seal.objects.of_chain(self.chain).filter(seq__gt=self.seq).order_by("seq").first()
        if sealed:
            yield Problem(self.chain, sealed.seq, f"the seal of {sealed.kind} {sealed.row} is of a missing entry")
        redaction = Redaction.objects.of_chain(self.chain).filter(seq__gt=self.seq).order_by("seq").first()
        if redaction:
            yield Problem(self.chain, redaction.seq, f"redaction {redaction.pk} is told by an entry that is missing")
        for what in self.keys.problems_of_end(self.seq):
            yield Problem(self.chain, None, what)
        yield from self._problems_of_end()

    def _problems_of_end(self) -> Iterator[Problem]:
        """Yield a problem if the chain is closed but its store is not deleted, or if it is not closed but its store is
        deleted."""
        last = AuditEntry.objects.filter(chain=self.chain, seq=self.seq).values_list("command", "ok", "at").first()
        deleted_at = last[2] if last and last[:2] == (delete.COMMAND, True) else None
        if deleted_at != self.closed:
            what = "is closed, and its last entry does not say so" if self.closed else "has ended, and is not closed"
            yield Problem(self.chain, None, f"the chain {what}")

    def _problems_of_start(self) -> Iterator[str]:
        if program := facts.foreign_program():
            yield f"the database has the {program}, which is not the hub's: what is read may not be what was written"
        try:
            yield from self.start.problems(self.reviewed)
        except UNREADABLE as error:
            reraise_refusal(error)
            yield "it was changed: what outlived its entries is not written as the hub writes it"

    def _entries(self) -> list[tuple[AuditEntry, list[MemoryVersion]]] | None:
        """Return the next entries with their versions; an empty list at the end of the chain.

        Near a row that cannot be read, return one entry at a time, and None at that row.
        """
        try:
            with transaction.atomic():
                after = readable(AuditEntry).filter(chain=self.chain, seq__gt=self.seq)
                entries = list(after.order_by("seq")[: self.chunk])
                made = self._versions(entries) if entries else {}
        except UNREADABLE as error:
            reraise_refusal(error)
            if self.chunk == 1:
                return None
            self.chunk = 1
            return self._entries()
        return [(entry, made.get(entry.seq, [])) for entry in entries]

    def _problems_of(self, entry: AuditEntry, versions: list[MemoryVersion]) -> Iterator[str]:
        """Yield a sentence for each problem of an entry. A value that the hub never writes is a problem too."""
        try:
            yield from self._entry(entry, versions)
        except UNREADABLE as error:
            reraise_refusal(error)
            yield "it was changed: it, or what it made or showed, is not written as the hub writes it"

    def _versions(self, entries: Sequence[AuditEntry]) -> dict[int, list[MemoryVersion]]:
        """Return {seq: versions} of some entries, and load the seals, texts and redactions for their checks."""
        found = readable(MemoryVersion).filter(store_id=self.chain, seq__gte=entries[0].seq, seq__lte=entries[-1].seq)
        self.sealed = _sealed(self.chain, entries[0].seq, entries[-1].seq)
        made = defaultdict(list)
        for version in found.select_related("text").order_by("id"):
            made[version.seq].append(version)
        answered = [entry for entry in entries if entry.version and entry.message is None]
        shown = MemoryVersion.objects.filter(store_id=self.chain, id__in={entry.version for entry in answered})
        texts = list(shown.select_related("text"))
        self.texts = {version.id: content_of(version) for version in texts}
        self.redacted = redactions.between(self.chain, entries[0].seq, entries[-1].seq)
        redactions.find_gone(self.redacted, self.chain, answered, texts)
        return made

    def _entry(self, entry: AuditEntry, versions: list[MemoryVersion]) -> Iterator[str]:
        if entry.seq != self.seq + 1:
            yield "the entry is missing"
        if entry.previous_hash != self.hash:
            yield "it does not follow the entry before it"
        for what in self.keys.problems(entry):
            yield from self._texts(versions)
            yield what
        if not written_as_read(entry):
            yield "it was changed: it is not written as the hub writes it"
        yield from self._commitments(entry, proofs.read(entry))
        yield from redactions.told_problems(self.redacted, entry.seq)
        if not self.closed:
            yield from self._made(entry, versions)
        elif not self._sealed_elsewhere(entry):
            yield "the governing rows that it changed are not those that it names"

    def _texts(self, versions: Sequence[MemoryVersion]) -> Iterator[str]:
        """Yield a sentence for each problem of the texts of an entry's versions."""
        for version in versions:
            yield from content_problems(version, self.redacted.of_version.get(version.id))

    def _sealed_elsewhere(self, entry: AuditEntry) -> bool:
        """Return whether an entry of a deleted store matches its seals, or has only seals of the store's own rows."""
        found = self.sealed[entry.seq]
        at_home = all(seal.home == self.chain for seal in found)
        return at_home or chain.digest(map(seals.member, found)) == entry.digest

    def _made(self, entry: AuditEntry, versions: list[MemoryVersion]) -> Iterator[str]:
        """Yield a sentence for each problem of an entry's digest and of its versions."""
        commitments = redactions.commitments(self.redacted, entry.seq, versions)
        if chain.digest([*commitments, *map(seals.member, self.sealed[entry.seq])]) != entry.digest:
            yield "the versions that it made, or what it redacted or governs, are not those that it names"
        for memory, number, id in self._numbered(entry.seq, versions):
            if self.start.seq and memory not in self.numbers:
                self.numbers[memory] = number - 1  # all its versions before the start were removed
            self.numbers[memory] += 1
            if number != self.numbers[memory]:
                yield f"version {id} is not the next of its memory"
        for version in versions:
            yield from self._version(version, entry)

    def _numbered(self, seq: int, versions: Sequence[MemoryVersion]) -> list[tuple[str, int, str]]:
        """Return (memory, number, id) of an entry's versions, sorted by memory and number. Removed versions are
        included."""
        removed = [(row.memory or "", row.number or 0, row.version or "") for row in self.redacted.removed[seq]]
        return sorted([*((version.memory_id, version.number, version.id) for version in versions), *removed])

    def _commitments(self, entry: AuditEntry, proof: Proof) -> Iterator[str]:
        """Yield a sentence for each problem of an entry's salts, commitments and committed values."""
        redacted = self.redacted.fields(entry.seq)
        forgotten = "message" not in proof.salts and self._answer_is_gone(entry, proof, redacted)
        hidden = redacted | ({"message"} if forgotten else set())
        committed = [field for field in chain.COMMITTED if proof.has(field)]
        away = hidden if entry.message is not None else hidden | {"message"}
        kept = committed if proof.is_older else [field for field in committed if field in away]
        salted = [field for field in committed if field not in hidden]
        if (list(proof.salts), list(proof.commitments)) != (salted, kept):
            yield "a salt or a commitment is missing or too many, or not in its place"
            return
        if not (proof.is_older or entry.salts == entry.commitments == {}):
            yield "it has its salts twice"
        for field in redacted:
            if not redactions.fits(self.redacted.of_field[entry.seq, field], [getattr(entry, field)]):
                yield f"what is left of its {field} was changed"
        for field in chain.COMMITTED:
            if field in hidden or (field == "message" and self._answer_went(entry)):
                continue
            value = self._answer(entry, proof) if field == "message" else getattr(entry, field)
            if (value is None) != (field not in committed):
                yield f"its {field} is missing or was added"
            elif value is not None and field in kept and not _fits(proof, field, value):
                yield f"its {field} was changed"

    def _answer_went(self, entry: AuditEntry) -> bool:
        """Return whether an answer cannot be rendered, because its text was deleted with the store, or because the call
        repeats an earlier call whose entry was removed."""
        if entry.message is not None:
            return False
        repeats_a_removed = entry.first_line is None and entry.replay_of is not None
        return bool(self.closed) or (repeats_a_removed and (entry.replay_of or 0) <= self.start.seq)

    def _answer_is_gone(self, entry: AuditEntry, proof: Proof, redacted: set[str]) -> bool:
        """Return whether an answer can no longer be rendered: it was not stored, and a version or entry that it needs
        was redacted or removed."""
        if entry.message is not None or not proof.has("message"):
            return False
        if redacted & {"path", "new_path"} or (entry.version or "") in self.redacted.gone:
            return True
        repeated = entry.replay_of
        if repeated is None or repeated <= self.start.seq:
            return repeated is not None
        columns = ("chain", "seq", *proofs.COLUMNS)
        first = AuditEntry.objects.filter(chain=self.chain, seq=repeated).only(*columns).first()
        return first is not None and "message" not in proofs.read(first).salts

    def _answer(self, entry: AuditEntry, proof: Proof) -> str | None:
        """Return the answer of a call: the stored one, the one rendered again, or that of the earlier call it repeats.

        Return None if the call had no answer; "" if the hub would not have written such an entry.
        """
        if entry.message is not None:
            try:
                answer = json.loads(entry.message)
            except ValueError:
                return ""
            return answer if isinstance(answer, str) and to_json(answer) == entry.message else ""
        if not proof.has("message"):
            return None
        if entry.first_line is not None and entry.last_line is not None and entry.command:
            content = self.texts.get(entry.version or "")
            path, cut = entry.path or "", bool(entry.cut)
            return calls.rendered(entry.command, path, content, entry.first_line, entry.last_line, cut)
        if entry.replay_of is not None and entry.replay_of < entry.seq:
            with transaction.atomic():
                return calls.answer_of(self.chain, entry.replay_of)[1]
        return ""

    def _version(self, version: MemoryVersion, entry: AuditEntry) -> Iterator[str]:
        name = f"version {version.id}"
        expected = ReviewState.UNREVIEWED if entry.actor_kind == ActorKind.KEY else None
        if version.review_state != (expected and self.reviewed.get(version.id, expected)):
            yield f"the review state of {name} was changed"
        if version.seal is not None:
            yield f"{name} has a seal, and its entry is there"
        yield from content_problems(version, self.redacted.of_version.get(version.id))


def _sealed(chain_id: str, first: int, last: int) -> dict[int, list[Seal]]:
    """Return {seq: seals} of a range of entries, in the order that their digests use."""
    found = defaultdict(list)
    for seal in seals.in_order(Seal.objects.of_chain(chain_id).filter(seq__gte=first, seq__lte=last)):
        found[seal.seq].append(seal)
    return found


def _reviewed(chain_id: str) -> dict[str, str]:
    """Return {version: review state}, computed from the entries; {} if the entries cannot be read."""
    try:
        with transaction.atomic():
            return review_states.states(chain_id)
    except UNREADABLE as error:
        reraise_refusal(error)
        return {}


def _fits(proof: Proof, field: str, value: str) -> bool:
    salt = proof.salts[field]
    return bool(SALT.fullmatch(salt)) and chain.commit(bytes.fromhex(salt), value) == proof.commitments[field]
