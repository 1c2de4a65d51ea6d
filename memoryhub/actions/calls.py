"""Tool calls: one call in, its answer and its audit entry out, once even if it is sent again."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memoryhub import ids
from memoryhub.actions import audit, memories, sql, tree
from memoryhub.actions.audit import Act, Actor, Record
from memoryhub.actions.transactions import together
from memoryhub.models import Access
from memoryhub.models.audit import ActorKind
from memoryhub.protocol import rendering, results
from memoryhub.protocol.commands import WRITES, Command, View, parse
from memoryhub.protocol.errors import ToolError

_canonical = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode

KEY_EXACT_TO = timedelta(minutes=1)
SESSION_EXACT_TO = timedelta(seconds=1)


class TokenReused(Exception):
    """The token was used before, for a call with another input."""


class Caller(NamedTuple):
    """The key that a request shows. `reaches` tells whether the store exists for it."""

    key: str
    agent: str
    label: str
    access: Access
    stale: bool
    reaches: bool

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.KEY.value, self.key, self.agent, self.label)


class Outcome(NamedTuple):
    """What the agent gets: the text, whether it is an error, the entry's seq, and whether the call had run before."""

    text: str
    ok: bool
    seq: int
    replayed: bool = False


def digest_of_key(secret: str) -> str:
    """How a key is stored and found."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_caller(secret: str, store_id: str, at: datetime) -> Caller | None:
    """Who shows this key, if it is valid at that moment."""
    sql.connect()
    row = sql.one(sql.CALLER, sql.moment(at - KEY_EXACT_TO), store_id, store_id, digest_of_key(secret), sql.moment(at))
    if row is None:
        return None
    key, agent, label, access, stale, reaches = row
    return Caller(key, agent, label, Access(access), bool(stale), bool(reaches))


def digest_of_input(input: Mapping[str, Any]) -> str:
    """The SHA-256 of an input, whatever the order of its keys."""
    return hashlib.sha256(_canonical(input).encode()).hexdigest()


def is_reused(store_id: str, key: str, token: str, digest: str) -> bool:
    """Whether a token was used before for another input."""
    sql.connect()
    row = sql.one(sql.IDEMPOTENT_CALL, store_id, key, token)
    return row is not None and row[0] != digest


def call(
    store_id: str, input: Mapping[str, Any], digest: str, caller: Caller, act: Act, session: str | None
) -> Outcome:
    """Runs one call in its own transaction. Raises TokenReused, and tree.NoSuchStore where the store is gone.

    `session` is the name that the agent gave its session.
    """
    command = _parsed(input)
    return together(lambda: _call(store_id, command, audit.to_json(input), digest, caller, act, session))


def _call(
    store_id: str, command: Command | ToolError, input: str, digest: str, caller: Caller, act: Act, session: str | None
) -> Outcome:
    with tree.locked(store_id, act) as store:
        first = _first_of(store, caller.key, digest)
        note_use(store, caller, session)
        record = _record(store, command, caller, first)
        seq = tree.commit(store, record.given(input))
    return Outcome(record.answer or "", record.ok, seq, first is not None)


def _first_of(store: tree.Tree, key: str, digest: str) -> int | None:
    """The seq of the call that this one repeats; None for a new one, which is noted under the seq it will have."""
    token = store.act.token
    if sql.run(sql.ADD_IDEMPOTENT_CALL, store.store, key, token, digest, store.seq, store.now):
        return None
    row = sql.one(sql.IDEMPOTENT_CALL, store.store, key, token)
    if row is None or row[0] != digest:
        raise TokenReused(token)
    return int(row[1])


def _parsed(input: Mapping[str, Any]) -> Command | ToolError:
    try:
        return parse(input)
    except ToolError as error:
        return error


def _record(store: tree.Tree, command: Command | ToolError, caller: Caller, first: int | None) -> Record:
    """What the call does now; a repeated one gives the first one's answer, but a view looks again."""
    if first is not None and not isinstance(command, View):
        return _replay(store, command, first)
    if isinstance(command, ToolError):
        record = memories.refusal(command, command.command, command.path, command.new_path)
    elif command.name in WRITES and not caller.access.includes(Access.WRITE):
        error = ToolError(results.key_may_not_write())
        record = memories.refusal(error, command.name, command.path, getattr(command, "new_path", None))
    else:
        record = memories.perform(store, command)
    return record if first is None else record._replace(replay_of=first)


def _replay(store: tree.Tree, command: Command | ToolError, first: int) -> Record:
    ok, answer = answer_of(store.store, first)
    name = command.command if isinstance(command, ToolError) else command.name
    return Record(
        name, ok=ok, answer=answer, path=command.path, new_path=getattr(command, "new_path", None), rendered=True,
        replay_of=first,
    )  # fmt: skip


def answer_of(chain: str, seq: int) -> tuple[bool, str]:
    """Whether a call succeeded, and its answer: as stored, or rendered again from the version that it showed."""
    sql.connect()
    row = sql.one(sql.ANSWER, chain, seq)
    if row is None:
        raise LookupError(f"{chain} has no entry {seq}")
    ok, message, command, first, last, cut, path, content = row
    if message is not None:
        return bool(ok), json.loads(message)
    return bool(ok), rendered(command, path, content, first, last, bool(cut))


def rendered(command: str, path: str, content: str | None, first: int, last: int, cut: bool) -> str:
    """The answer to a view or a str_replace again, from the text that it showed (null: redacted since)."""
    if content is None:
        return results.redacted()
    if command == View.name:
        return rendering.view_again(path, content, first, last, cut)
    return rendering.edited_again(content, first, last)


def note_use(store: tree.Tree, caller: Caller, session: str | None) -> None:
    """Notes when a key and a session were last used; the act of the tree gets the session's id."""
    at = store.at
    if caller.stale:
        sql.run(sql.KEY_USED, sql.moment(at), caller.key)
    if session is not None:
        store.act = store.act._replace(session=_session(caller.agent, session, at))


def _session(agent: str, name: str, at: datetime) -> str:
    now = sql.moment(at)
    row = sql.one(sql.SESSION, sql.moment(at - SESSION_EXACT_TO), agent, name)
    if row is None:
        sql.run(sql.ADD_SESSION, ids.new_id(ids.SESSION, at), agent, name, now, now)
        row = sql.one(sql.SESSION, now, agent, name)
        assert row is not None  # just added, by this call or by another
    elif row[1]:
        sql.run(sql.SESSION_SEEN, now, row[0])
    return str(row[0])
