"""Audit entries: each is appended to its chain in the same transaction as the act that it describes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import keys, seals, traced
from memoryhub.actions.core.audit.keys import key_name
from memoryhub.models import HUB, Agent, Door, User
from memoryhub.models.audit import ENTRY_BYTES, ActorKind
from memoryhub.models.sealed import changed
from memoryhub.pure import chain, compact_json
from memoryhub.pure.text import kept_once

to_json = compact_json.writer()
"""Encode any JSON value as ASCII text. Unpaired surrogates and NUL stay escaped, so every database accepts the text."""


def no_time() -> int:
    """Return 0, the duration of an act that is not measured."""
    return 0


_ALLOWED_BY = re.compile(r"[^\w\s]\s*allowed\s+by\b", re.IGNORECASE)


class Actor(NamedTuple):
    """The author of an act. `label` is the author's current name.

    For a key, `id` is the key's id and `author_id` the agent's. For a person, both are the person's id. For the hub,
    both are None. `second` is the id of the second person who allowed the act, if any.
    """

    kind: str
    id: str | None
    author_id: str | None
    label: str
    second: str | None = None

    @classmethod
    def person(cls, user: User, second: User | None = None) -> "Actor":
        """Return a person as an actor. The label also names the `second` person, if that person allowed the act."""
        label, other = (_ALLOWED_BY.sub("(", str(one)) if one else "" for one in (user, second))
        if second is None:
            return cls(ActorKind.USER.value, user.id, user.id, label)
        # No one can choose such a label as a name.
        return cls(ActorKind.USER.value, user.id, user.id, f"{label} (allowed by {other})", second.id)

    @classmethod
    def system(cls, label: str) -> "Actor":
        """Return the actor for acts of the hub itself, or of someone who has not signed in.

        `label` is the name of the actor.
        """
        return cls(ActorKind.SYSTEM.value, None, None, label)

    @classmethod
    def key(cls, key_id: str, agent: Agent) -> "Actor":
        return cls(ActorKind.KEY.value, key_id, agent.id, agent.name)


class Act(NamedTuple):
    """Who acts, when, through which door and in which session.

    `elapsed` returns the microseconds since the act began. `trace` is the trace of the request, see `request_ids`.
    """

    actor: Actor
    door: Door
    at: datetime
    session: str | None = None
    token: str | None = None
    group: str | None = None
    note: str | None = None
    elapsed: Callable[[], int] = no_time
    trace: str | None = None


class Version(NamedTuple):
    """The id and the commitment of a memory version, for the digest of the entry that made the version."""

    id: str
    commitment: str


class Record(NamedTuple):
    """The result of an act, as its audit entry stores it."""

    command: str | None
    ok: bool = True
    answer: str | None = None  # the entry stores a commitment to it
    path: str | None = None
    new_path: str | None = None
    memory: str | None = None
    version: str | None = None
    input: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    cut: bool | None = None
    replay_of: int | None = None
    rendered: bool = False  # the answer itself is not stored, because it can be rendered again
    versions: tuple[Version, ...] = ()
    redactions: tuple[str, ...] = ()  # the commitments of the Redaction rows, sorted by the ids of the rows
    has_notes: bool = False  # whether the memory has undelivered notes; not stored
    text: str | None = None  # the text of the new version, which the stored input then lacks

    def given(self, input: str | None) -> "Record":
        """Return the record with the call's input, as JSON text."""
        return self._replace(input=input)


@dataclass(slots=True)
class ChainHead:
    """The last entry of a locked chain; the next entry gets `next_seq`. `key_name` is the name of the audit key that
    writes the chain; None if the key was never rotated."""

    id: str
    last_seq: int
    last_hash: str
    key_name: str | None
    bytes: int = 0

    @property
    def next_seq(self) -> int:
        return self.last_seq + 1


def lock_hub() -> ChainHead:
    """Lock the hub's own chain until the transaction ends, and return its head. Take this lock last."""
    return open_chain(HUB)


def open_chain(chain_id: str) -> ChainHead:
    """Lock a chain and return its head. A missing chain, for example of a new store, is started."""
    sql.run(sql.ADD_CHAIN, chain_id, chain.GENESIS)
    row = sql.one(sql.CHAIN, chain_id)
    assert row is not None  # just added where it was missing
    return ChainHead(chain_id, *row)


def _digest(head: ChainHead, seq: int, record: Record) -> str | None:
    """Write the seals of the changed rows.

    Return the digest of the entry's versions, redactions and seals; None if it has none.
    """
    made = [version.commitment for version in sorted(record.versions, key=lambda version: version.id)]
    made += record.redactions
    return chain.digest(made + seals.write(head.id, seq, others=not made) if changed() else made)


def append(head: ChainHead, act: Act, record: Record) -> int:
    """Write the next entry of a locked chain; return the entry's seq.

    The entry also seals the changed governing rows (see `core.audit.seals`). Raises keys.Replaced if the audit key of
    this process is no longer the current key.
    """
    writer = key_name()
    if head.key_name not in (None, writer):
        raise keys.Replaced
    seq = head.last_seq + 1
    actor, door = act.actor, act.door.value
    values = {
        "path": record.path, "new_path": record.new_path, "label": actor.label, "session": act.session,
        "note": act.note, "token": act.token, "input": record.input, "message": record.answer,
    }  # fmt: skip
    proof, commitments = chain.seal(values, ("message",) if record.rendered else ())
    digest = _digest(head, seq, record)
    duration = act.elapsed()
    plain = (
        head.id, seq, chain.moment(act.at), actor.kind, actor.id, actor.author_id, door, record.command,
        record.memory, record.version, record.ok, duration, act.group, record.replay_of, record.first_line,
        record.last_line, record.cut, digest,
    )  # fmt: skip
    entry_hash = chain.entry_hash(
        settings.MEMORYHUB_AUDIT_KEY, head.last_hash, chain.canonical(writer, plain, commitments)
    )
    message = None if record.rendered or record.answer is None else to_json(record.answer)
    input = record.input if record.input is None or record.text is None else kept_once.lean(record.input, record.text)
    size = ENTRY_BYTES + len(message or "") + len(input or "") + len("{}{}") + len(proof)
    sql.run_later(
        sql.ADD_ENTRY, head.id, seq, sql.moment(act.at), actor.kind, actor.id, actor.author_id, actor.label,
        act.session, door, record.command, record.path, record.new_path, record.memory, record.version, record.ok,
        message, input, duration, act.group, act.token, record.replay_of, act.note, record.first_line,
        record.last_line, record.cut, digest, writer, head.last_hash, entry_hash, proof,
    )  # fmt: skip
    sql.add(sql.CHAIN_HEAD, (size,), (seq, entry_hash), head.id)
    head.last_seq, head.last_hash, head.bytes = seq, entry_hash, head.bytes + size
    if act.trace is not None:
        traced.note(traced.Place(head.id, seq, act.at), act.trace)
    return seq


def on_hub(act: Act, record: Record) -> int:
    """Write an entry in the hub's own chain, in the transaction of its act; return the entry's seq."""
    return append(lock_hub(), act, record)
