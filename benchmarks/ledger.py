"""Writes a synthetic store's memories, versions and audit entries as rows, with a chain as valid as one of real
calls."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from benchmarks.bulk import Bulk
from memoryhub.actions.core.audit import key_name, to_json
from memoryhub.actions.core.sql import moment
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Directory,
    IdempotentCall,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Session,
)  # fmt: skip
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol import paths

MADE_BY, SUPERSEDED, REVIEW_STATE = 10, 11, 12
"""The positions of these columns in the row of a version."""


class Author(NamedTuple):
    """An actor as entries record it."""

    kind: str
    id: str
    author_id: str
    label: str


class By(NamedTuple):
    """Where a call comes from: its actor, its door, and its session (None: the call has no session)."""

    author: Author
    door: str
    session: str | None = None


class Text(NamedTuple):
    """The row of a text."""

    id: str
    content: str
    size: int
    sha256: str


class Made:
    """A memory in its current state, with the rows of its versions that may still change."""

    __slots__ = (
        "created", "deleted", "flagged", "head", "id", "is_subject", "last_read", "last_read_seq", "number", "path",
        "place", "reads", "text", "unreviewed", "updated",
    )  # fmt: skip

    def __init__(self, id: str, path: str, text: Text, at: datetime, is_subject: bool) -> None:
        self.id, self.path, self.text, self.created, self.updated = id, path, text, at, at
        self.is_subject = is_subject
        self.number = self.reads = 0
        self.place = -1
        self.head: list[Any] = []
        self.unreviewed: list[list[Any]] = []
        self.last_read: datetime | None = None
        self.last_read_seq: int | None = None
        self.deleted: datetime | None = None
        self.flagged = False


class Told(NamedTuple):
    """The facts of one act, from which its audit entry is written."""

    command: str
    input: dict[str, Any]
    answer: str | None = None
    path: str | None = None
    new_path: str | None = None
    memory: str | None = None
    version: str | None = None
    ok: bool = True
    first: int | None = None
    last: int | None = None
    cut: bool | None = None
    note: str | None = None


class Ledger:
    """Writes the rows of one store. The caller sets `now`, the moment of the next act."""

    def __init__(self, bulk: Bulk, store: MemoryStore, tokens_from: datetime) -> None:
        head = AuditChain.objects.get(pk=store.id)
        self.bulk, self.store, self.now, self.tokens_from = bulk, store.id, store.created_at, tokens_from
        self.seq, self.hash = head.last_seq, head.last_hash
        self.versions: list[list[Any]] = []
        self._made: list[tuple[str, str]] = []

    @property
    def next_seq(self) -> int:
        return self.seq + 1

    def text(self, memory: str, content: str) -> Text:
        encoded = content.encode()
        text = Text(ids.new_id(ids.MEMORY_TEXT, self.now), content, len(encoded), hashlib.sha256(encoded).hexdigest())
        self.bulk.add(MemoryText, (text.id, self.store, memory, content))
        return text

    def version(self, by: By, memory: Made, operation: str) -> str:
        """Add the next version of a memory, with the memory's path and text. Return the version's id."""
        gone = operation == "deleted"
        if memory.head:
            memory.head[SUPERSEDED] = self.next_seq
        memory.number += 1
        memory.updated = self.now
        version, salt, text = ids.new_id(ids.MEMORY_VERSION, self.now), chain.new_salt(), memory.text
        sha256 = None if gone else text.sha256
        commitment = chain.version_commitment(
            salt, id=version, memory=memory.id, number=memory.number, operation=operation, path=memory.path,
            sha256=sha256, at=chain.moment(self.now),
        )  # fmt: skip
        from_agent = by.author.kind == "key"
        memory.head = [
            version, self.store, memory.id, memory.number, operation, memory.path, None if gone else text.id,
            None if gone else text.size, sha256, moment(self.now), self.next_seq, None,
            "unreviewed" if from_agent else None, salt, commitment, None, None, None, None, None,
        ]  # fmt: skip
        self.versions.append(memory.head)
        if from_agent:
            memory.unreviewed.append(memory.head)
        self._made.append((version, commitment))
        return version

    def entry(self, by: By, told: Told) -> int:
        """Add one audit entry for all versions added since the previous entry. Return its seq."""
        self.seq += 1
        author, at = by.author, moment(self.now)
        token = f"toolu_{self.seq:012}" if author.kind == "key" else None
        rendered, input = told.first is not None, to_json(told.input)
        committed = {
            "path": told.path, "new_path": told.new_path, "label": author.label, "session": by.session,
            "note": told.note, "token": token, "input": input, "message": told.answer,
        }  # fmt: skip
        proof, commitments = chain.seal(committed, ("message",) if rendered else ())
        digest = chain.digest([commitment for _, commitment in sorted(self._made)])
        self._made.clear()
        duration = 300 + self.seq * 7919 % 4000
        plain = (
            self.store, self.seq, chain.moment(self.now), author.kind, author.id, author.author_id, by.door,
            told.command, told.memory, told.version, told.ok, duration, None, None, told.first, told.last, told.cut,
            digest,
        )  # fmt: skip
        canonical, previous = chain.canonical(key_name(), plain, commitments), self.hash
        self.hash = chain.entry_hash(settings.MEMORYHUB_AUDIT_KEY, previous, canonical)
        self.bulk.add(AuditEntry, (
            self.store, self.seq, at, author.kind, author.id, author.author_id, author.label, by.session, by.door,
            told.command, told.path, told.new_path, told.memory, told.version, told.ok,
            None if rendered or told.answer is None else to_json(told.answer), input, duration, None, token, None,
            told.note, told.first, told.last, told.cut, digest, "{}", "{}", proof, key_name(), previous, self.hash,
        ))  # fmt: skip
        if token and self.now >= self.tokens_from:
            call = hashlib.sha256(input.encode()).hexdigest()
            self.bulk.add(IdempotentCall, (self.store, author.id, token, call, self.seq, at))
        return self.seq

    def session(self, id: str, agent: str, name: str, first: datetime, last: datetime) -> None:
        self.bulk.add(Session, (id, agent, name, moment(first), moment(last)))

    def close(self, memories: Sequence[Made]) -> None:
        """Write the versions, the memories, their directories and the counters in their final state."""
        for row in self.versions:
            self.bulk.add(MemoryVersion, row)
        directories = self._directories([memory for memory in memories if memory.deleted is None])
        for memory in memories:
            text, parent = memory.text, paths.parent(memory.path)
            self.bulk.add(Memory, (
                memory.id, self.store, None if memory.deleted else directories[parent], memory.path,
                paths.name(memory.path), memory.head[0], text.id, text.size, text.sha256, memory.number, 0,
                moment(memory.created), moment(memory.updated), memory.last_read and moment(memory.last_read),
                memory.last_read_seq, memory.reads, memory.flagged, memory.deleted and moment(memory.deleted), None,
                None, 0,
            ))  # fmt: skip
        self.bulk.flush()
        AuditChain.objects.filter(pk=self.store).update(last_seq=self.seq, last_hash=self.hash)

    def _directories(self, live: Sequence[Made]) -> dict[str, str]:
        """Add the rows of the directories and return {path: id}. The row of the root exists already; it is updated."""
        root = Directory.objects.get(store=self.store, path="")
        counts: dict[str, list[Any]] = {"": [0, 0, root.changed_at]}
        for memory in live:
            for place in paths.ancestors(memory.path):
                counted = counts.setdefault(place, [0, 0, memory.updated])
                counted[0] += 1
                counted[1] += memory.text.size
                counted[2] = max(counted[2], memory.updated)
        known = {"": root.id}
        for place in sorted(counts)[1:]:
            known[place] = ids.new_id(ids.DIRECTORY, self.now)
            count, size, changed = counts[place]
            parent = known[paths.parent(place)]
            self.bulk.add(Directory, (known[place], self.store, place, parent, count, size, moment(changed)))
        count, size, changed = counts[""]
        Directory.objects.filter(pk=root.id).update(memory_count=count, total_bytes=size, changed_at=changed)
        MemoryStore.objects.filter(pk=self.store).update(memory_count=count, total_bytes=size)
        return known
