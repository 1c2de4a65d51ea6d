"""Verifying the audit: every entry, every version that it made, and everything that is derived from them."""

import hashlib
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, connection, models, transaction
from django.db.models.functions import Cast

from memoryhub import chain
from memoryhub.actions import calls, checkpoints, reviewing
from memoryhub.actions.audit import KEY_NAME, to_json
from memoryhub.actions.derived import derived_problems
from memoryhub.actions.snapshot import snapshot
from memoryhub.models import AuditChain, AuditEntry, MemoryStore, MemoryText, MemoryVersion, Operation, ReviewState
from memoryhub.models.audit import ActorKind

CHUNK = 500

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, DatabaseError)
"""What reading a row raises that somebody has changed into something that the hub never writes."""

_SALT = re.compile("[0-9a-f]{32}")
_JSON = {"salts", "commitments"}
_TIMES = {"at", "created_at", "redacted_at"}
_FLAGS = {"ok", "cut"}

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True, slots=True)
class Problem:
    """The entry that is wrong (seq null: the chain as a whole) and a sentence that says how."""

    chain: str
    seq: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.chain} entry {self.seq}: {self.what}" if self.seq else f"{self.chain}: {self.what}"


def chains(checkpoint_file: Path) -> list[str]:
    """Every chain that there is, or was at a checkpoint."""
    known = {checkpoint.chain for _, checkpoint in checkpoints.read(checkpoint_file) if checkpoint}
    tables = (AuditChain.objects, MemoryStore.objects)
    return sorted(known.union(*(table.values_list("id", flat=True) for table in tables)))


def verify(chain_id: str, checkpoint_file: Path | None = None) -> tuple[int, Problem | None]:
    """How many entries a chain has that are right, and the first that is not; the hub may go on writing meanwhile."""
    # Read before the snapshot is taken: none of them is newer than the entries.
    written = list(checkpoints.read(checkpoint_file)) if checkpoint_file else []
    with snapshot():
        return _verified(chain_id, written)


def _verified(chain_id: str, written: list[tuple[int, checkpoints.Checkpoint | None]]) -> tuple[int, Problem | None]:
    problems = _Verification(chain_id).problems()
    counted = 0
    for problem in problems:
        if isinstance(problem, Problem):
            return counted, problem
        counted = problem
    try:
        for seq, what in itertools.chain(derived_problems(chain_id), _checkpoint_problems(chain_id, written)):
            return counted, Problem(chain_id, seq, what)
    except UNREADABLE:
        return counted, Problem(chain_id, None, "what is derived from the entries cannot be read")
    return counted, None


def unreadable_checkpoints(path: Path) -> list[int]:
    """The numbers of the lines of the checkpoint file that are not as they were written."""
    return [number for number, checkpoint in checkpoints.read(path) if checkpoint is None]


class _Verification:
    """Walks one chain from its first entry to its last."""

    def __init__(self, chain_id: str) -> None:
        self.chain = chain_id
        self.seq, self.hash, self.chunk = 0, chain.GENESIS, CHUNK
        self.numbers: dict[str, int] = defaultdict(int)
        self.texts: dict[str, str | None] = {}
        self.reviewed = _reviewed(chain_id)

    def problems(self) -> Iterator[int | Problem]:
        """The seq of each part that is right, and every problem, in order."""
        while entries := self._entries():
            for entry, versions in entries:
                for what in self._problems_of(entry, versions):
                    yield Problem(self.chain, self.seq + 1, what)
                self.seq, self.hash = entry.seq, entry.hash
            yield self.seq
        if entries is None:
            yield Problem(self.chain, self.seq + 1, "it was changed: it, or what it made or showed, cannot be read")
            return
        head = AuditChain.objects.filter(pk=self.chain).first()
        if head is None or (head.last_seq, head.last_hash) != (self.seq, self.hash):
            missing = self.seq + 1 if head and head.last_seq > self.seq else None
            yield Problem(self.chain, missing, "the chain's head is not its last entry")
        later = MemoryVersion.objects.filter(store_id=self.chain, seq__gt=self.seq).order_by("seq").first()
        if later:
            yield Problem(self.chain, later.seq, f"version {later.id} was made by an entry that is missing")

    def _entries(self) -> list[tuple[AuditEntry, list[MemoryVersion]]] | None:
        """The next entries, each with the versions that it made; one at a time, and null at last, near a broken row."""
        try:
            with transaction.atomic():
                after = _readable(AuditEntry).filter(chain=self.chain, seq__gt=self.seq)
                entries = list(after.order_by("seq")[: self.chunk])
                made = self._versions(entries) if entries else {}
        except UNREADABLE:
            if self.chunk == 1:
                return None
            self.chunk = 1
            return self._entries()
        return [(entry, made.get(entry.seq, [])) for entry in entries]

    def _problems_of(self, entry: AuditEntry, versions: list[MemoryVersion]) -> Iterator[str]:
        """What is wrong with an entry; a value of a kind that the hub never writes is wrong too."""
        try:
            yield from self._entry(entry, versions)
        except UNREADABLE:
            yield "it was changed: it, or what it made or showed, is not written as the hub writes it"

    def _versions(self, entries: Sequence[AuditEntry]) -> dict[int, list[MemoryVersion]]:
        """The versions made by some entries, by seq; and by the way the texts that these entries showed."""
        found = _readable(MemoryVersion).filter(store_id=self.chain, seq__gte=entries[0].seq, seq__lte=entries[-1].seq)
        made = defaultdict(list)
        for version in found.select_related("text").order_by("id"):
            made[version.seq].append(version)
        shown = {entry.version for entry in entries if entry.version and entry.message is None}
        texts = MemoryVersion.objects.filter(store_id=self.chain, id__in=shown).select_related("text")
        self.texts = {version.id: _content(version) for version in texts}
        return made

    def _entry(self, entry: AuditEntry, versions: list[MemoryVersion]) -> Iterator[str]:
        if entry.seq != self.seq + 1:
            yield "the entry is missing"
        if entry.previous_hash != self.hash:
            yield "it does not follow the entry before it"
        if entry.key_name != KEY_NAME:
            yield f"it was written with the audit key {entry.key_name}, and this is {KEY_NAME}"
        plain = [chain.moment(entry.at) if name == "at" else getattr(entry, name) for name in chain.PLAIN]
        canonical = chain.canonical(entry.key_name, plain, entry.commitments)
        if chain.entry_hash(settings.MEMORYHUB_AUDIT_KEY, entry.previous_hash, canonical) != entry.hash:
            yield "it was changed: its hash does not fit"
        if not _written_as_read(entry):
            yield "it was changed: it is not written as the hub writes it"
        yield from self._commitments(entry)
        if chain.digest([version.commitment for version in versions]) != entry.digest:
            yield "the versions that it made are not those that it names"
        for version in versions:
            yield from self._version(version, entry)

    def _commitments(self, entry: AuditEntry) -> Iterator[str]:
        if list(entry.salts) != list(entry.commitments) or list(entry.salts) != _ordered(entry.salts):
            yield "a salt is missing or too many, or not in its place"
            return
        for field in chain.COMMITTED:
            value = self._answer(entry) if field == "message" else getattr(entry, field)
            if (value is None) != (field not in entry.commitments):
                yield f"its {field} is missing or was added"
            elif value is not None and not _fits(entry.salts[field], value, entry.commitments[field]):
                yield f"its {field} was changed"

    def _answer(self, entry: AuditEntry) -> str | None:
        """The answer as it was given: stored, of the call that this one repeats, or rendered again."""
        if entry.message is not None:
            try:
                answer = json.loads(entry.message)
            except ValueError:
                return ""
            return answer if isinstance(answer, str) and to_json(answer) == entry.message else ""
        if "message" not in entry.commitments:
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
        self.numbers[version.memory_id] += 1
        name = f"version {version.id}"
        if version.number != self.numbers[version.memory_id]:
            yield f"{name} is not the next of its memory"
        if version.salt is None or not _SALT.fullmatch(version.salt) or version.path is None:
            yield f"the content of {name} is missing without a redaction"
            return
        commitment = chain.version_commitment(
            version.salt, id=version.id, memory=version.memory_id, number=version.number,
            operation=version.operation, path=version.path, sha256=version.sha256, at=chain.moment(version.created_at),
        )  # fmt: skip
        if commitment != version.commitment or not _written_as_read(version):
            yield f"{name} was changed"
        yield from self._text(version, name)
        expected = ReviewState.UNREVIEWED if entry.actor_kind == ActorKind.KEY else None
        if version.review_state != (expected and self.reviewed.get(version.id, expected)):
            yield f"the review state of {name} was changed"
        if version.redacted_at is not None or version.redacted_by is not None:
            yield f"{name} is marked as redacted, and no entry says so"

    def _text(self, version: MemoryVersion, name: str) -> Iterator[str]:
        if version.operation == Operation.DELETED:
            if not (version.text_id is None and version.size is None and version.sha256 is None):
                yield f"{name} is of a deletion and has a text"
            return
        content = _content(version)
        text = version.text
        if content is None or text is None or (text.store_id, text.memory_id) != (self.chain, version.memory_id):
            yield f"the text of {name} is missing"
            return
        encoded = content.encode("utf-8", "surrogatepass")
        if len(encoded) != version.size or hashlib.sha256(encoded).hexdigest() != version.sha256:
            yield f"the text of {name} was changed"


def _reviewed(chain_id: str) -> dict[str, str]:
    """What the entries say of the versions' reviews; where they cannot be read, the walk through them says so."""
    try:
        with transaction.atomic():
            return reviewing.states(chain_id)
    except UNREADABLE:
        return {}


def _content(version: MemoryVersion) -> str | None:
    """The text of a version, also where somebody has removed its row."""
    try:
        return version.text.content if version.text else None
    except MemoryText.DoesNotExist:
        return None


def _ordered(fields: Iterable[str]) -> list[str]:
    """Those of the committed fields that are among these, in the order in which the hub writes them."""
    return [field for field in chain.COMMITTED if field in fields]


def _fits(salt: str, value: str, commitment: str) -> bool:
    return bool(_SALT.fullmatch(salt)) and chain.commit(bytes.fromhex(salt), value) == commitment


@lru_cache
def _raw_columns(model: type[models.Model]) -> list[str]:
    """The columns in which two spellings of a value are one value, but not one byte: on SQLite times and flags too."""
    names = _JSON if connection.vendor == "postgresql" else {*_JSON, *_TIMES, *_FLAGS}
    return sorted(names & {field.name for field in model._meta.get_fields()})


def _readable(model: type[Row]) -> models.QuerySet[Row]:
    """The rows of a table, with what stands in those columns as text."""
    raw = {f"raw_{name}": Cast(name, models.TextField()) for name in _raw_columns(model)}
    found: models.QuerySet[Row] = models.QuerySet(model).annotate(**raw)
    return found


def _written_as_read(row: models.Model) -> bool:
    return all(getattr(row, f"raw_{name}") == _as_written(name, getattr(row, name)) for name in _raw_columns(type(row)))


def _as_written(name: str, value: Any) -> str | None:
    """How the hub writes a value into one of those columns."""
    if name in _JSON:
        return to_json(value)
    if value is None:
        return None
    return str(value.replace(tzinfo=None)) if name in _TIMES else str(int(value))


def _checkpoint_problems(
    chain_id: str, written: list[tuple[int, checkpoints.Checkpoint | None]]
) -> Iterator[tuple[int, str]]:
    for number, checkpoint in written:
        if checkpoint is None or checkpoint.chain != chain_id:
            continue
        entry = AuditEntry.objects.filter(chain=chain_id, seq=checkpoint.seq).first()
        if entry is None:
            yield checkpoint.seq, f"it is missing; it was there at {checkpoint.at} (checkpoint line {number})"
        elif entry.hash != checkpoint.hash:
            yield checkpoint.seq, f"it is not the one of {checkpoint.at} (checkpoint line {number})"
