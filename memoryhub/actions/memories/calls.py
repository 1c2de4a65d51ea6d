"""Tool calls: one call in, its answer and its audit entry out, once even if it is sent again."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings

from memoryhub import ids
from memoryhub.actions.core import audit, limits, sql, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.limits import Usage
from memoryhub.actions.core.transactions import together
from memoryhub.actions.memories import commands, input_masking
from memoryhub.models import Access
from memoryhub.models.audit import ActorKind
from memoryhub.protocol import rendering, results
from memoryhub.protocol.commands import WRITES, Command, View, parse
from memoryhub.protocol.errors import ToolError
from memoryhub.text import keeping

_canonical = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode

KEY_EXACT_TO = timedelta(minutes=1)
SESSION_EXACT_TO = timedelta(seconds=1)


class TokenReused(Exception):
    """The token was used before, for a call with another input."""


class NotRun(Exception):
    """A limit of the store stands against any call of the key: nothing was run and nothing recorded."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


class TooManyCalls(NotRun):
    """The key would pass the store's limit of calls; `wait` seconds later it may call again."""

    def __init__(self, limit: int, wait: int) -> None:
        super().__init__(f"{limit} calls in 60 seconds", limit)
        self.wait = wait


class AuditFull(NotRun):
    """The store's audit has reached its limit: what cannot be recorded is not done."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the audit has reached {limit} bytes", limit)


class Caller(NamedTuple):
    """The key that a request shows. `reaches` tells whether the store exists for it, and `body_bytes` how large a
    body may be there (null: the settings say)."""

    key: str
    agent: str
    label: str
    access: Access
    stale: bool
    reaches: bool
    body_bytes: int | None = None

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.KEY.value, self.key, self.agent, self.label)


class Outcome(NamedTuple):
    """What the agent gets: the text, whether it is an error, the entry's seq, what the store then holds, and whether
    the call had run before."""

    text: str
    ok: bool
    seq: int
    usage: Usage
    replayed: bool = False


def digest_of_key(secret: str) -> str:
    """How a key is stored and found."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_caller(secret: str, store_id: str, at: datetime) -> Caller | None:
    """Who shows this key, if it is valid at that moment."""
    sql.connect()
    row = sql.one(sql.CALLER, sql.moment(at - KEY_EXACT_TO), store_id, digest_of_key(secret), sql.moment(at))
    if row is None:
        return None
    key, agent, label, access, stale, reaches, body_bytes = row
    return Caller(key, agent, label, Access(access), bool(stale), bool(reaches), body_bytes)


def digest_of_input(input: Mapping[str, Any]) -> str:
    """What tells an input again, whatever the order of its keys; nobody without the audit key can try values on it."""
    return _keyed(hashlib.sha256(_canonical(input).encode()).hexdigest())


def _keyed(digest: str) -> str:
    return hmac.digest(settings.MEMORYHUB_AUDIT_KEY, b"input\0" + digest.encode(), "sha256").hex()


def _is_same(stored: str, digest: str) -> bool:
    """Whether a stored digest is this one; of calls that came before this there is the plain SHA-256."""
    return digest in (stored, _keyed(stored))


def is_reused(store_id: str, key: str, token: str | None, digest: str) -> bool:
    """Whether a token was used before for another input."""
    sql.connect()
    row = sql.one(sql.IDEMPOTENT_CALL, store_id, key, token)
    return row is not None and not _is_same(row[0], digest)


def call(
    store_id: str,
    input: Mapping[str, Any],
    digest: str,
    caller: Caller,
    act: Act,
    session: str | None,
    counts: int = 1,
) -> Outcome:
    """Runs one call in its own transaction. Raises TokenReused, TooManyCalls, AuditFull, and tree.NoSuchStore where the
    store is gone.

    `session` is the name that the agent gave its session. `counts`: as how many calls it is counted where the store
    limits them; the first of several that came together counts as all of them, and the others as none.
    """
    command = _parsed(input)
    text = audit.to_json(input)
    outcome = together(lambda: _call(store_id, command, input, text, digest, caller, act, session, counts), caller.key)
    if isinstance(outcome, NotRun | TokenReused):
        raise outcome
    return outcome


def _call(
    store_id: str,
    command: Command | ToolError,
    input: Mapping[str, Any],
    text: str,
    digest: str,
    caller: Caller,
    act: Act,
    session: str | None,
    counts: int,
) -> Outcome | NotRun | TokenReused:
    """A refusal is given and not raised: an error would make those run again that are committed with this one."""
    with tree.locked(store_id, act) as store:
        window = _window(store, caller.key, counts)
        if isinstance(window, NotRun):
            return TokenReused(act.token) if is_reused(store_id, caller.key, act.token, digest) else window
        first = _first_of(store, caller.key, digest)
        if isinstance(first, TokenReused):
            return first
        made = _note_calls(store, caller.key, window)
        note_use(store, caller, session)
        record = input_masking.of_call(store, _record(store, command, caller, first), input, text)
        seq = tree.commit(store, record)
        usage = Usage(store.memories, store.total_bytes, made, store.limits)
    answer = record.answer or ""
    return Outcome(_whole(store, command, answer, input) if first else answer, record.ok, seq, usage, first is not None)


def _whole(store: tree.Tree, command: Command | ToolError, answer: str, input: Mapping[str, Any]) -> str:
    """The answer to a repeated call as the first one got it, of which the audit keeps a long quotation in part."""
    if isinstance(command, ToolError) and keeping.is_cut(answer):
        return store.ruling.masked(command.message)
    quoted = store.ruling.masked_in(input.get("old_str"))
    return keeping.whole_answer(answer, quoted) if isinstance(quoted, str) else answer


def count(store: tree.Tree, key: str, counts: int) -> int | NotRun | None:
    """Counts calls of a key where the store limits them; gives those of the last minute.

    Every call of a key comes through here or through `_call`: where the audit is full, none is done.
    """
    window = _window(store, key, counts)
    return window if isinstance(window, NotRun) else _note_calls(store, key, window)


def _window(store: tree.Tree, key: str, counts: int) -> limits.Window | NotRun | None:
    """What the key's last minute would be with these calls, where the store limits them; nothing is written."""
    most = store.limits.audit_bytes
    if most is not None and store.head.bytes >= most:
        return AuditFull(most)
    limit = store.limits.calls
    if limit is None or not counts:
        return None
    row = sql.one(sql.CALLS, store.store, key)
    window = limits.count_calls(json.loads(row[0]) if row else (), store.at, counts, limit)
    return TooManyCalls(limit, window.wait) if window.seconds is None else window


def _note_calls(store: tree.Tree, key: str, window: limits.Window | None) -> int | None:
    if window is None:
        return None
    sql.run(sql.SET_CALLS, store.store, key, audit.to_json(window.seconds))
    return window.calls


def _first_of(store: tree.Tree, key: str, digest: str) -> int | TokenReused | None:
    """The seq of the call that this one repeats; None for a new one, which is noted under the seq it will have.
    TokenReused where the call that has the token had another input; then nothing is written."""
    token = store.act.token
    if sql.run(sql.ADD_IDEMPOTENT_CALL, store.store, key, token, digest, store.seq, store.now):
        return None
    row = sql.one(sql.IDEMPOTENT_CALL, store.store, key, token)
    if row is None or not _is_same(row[0], digest):
        return TokenReused(token)
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
        record = commands.refusal(command, command.command, command.path, command.new_path)
    elif command.name in WRITES and not caller.access.includes(Access.WRITE):
        error = ToolError(results.key_may_not_write())
        record = commands.refusal(error, command.name, command.path, getattr(command, "new_path", None))
    else:
        record = commands.perform(store, command)
    return record if first is None else record._replace(replay_of=first)


def _replay(store: tree.Tree, command: Command | ToolError, first: int) -> Record:
    ok, answer = answer_of(store.store, first)
    name = command.command if isinstance(command, ToolError) else command.name
    return Record(
        name,
        ok=ok,
        answer=answer,
        path=command.path,
        new_path=getattr(command, "new_path", None),
        rendered=True,
        replay_of=first,
    )


def answer_of(chain: str, seq: int) -> tuple[bool, str]:
    """Whether a call succeeded, and its answer: as stored, or rendered again from the version that it showed."""
    sql.connect()
    row = sql.one(sql.ANSWER, chain, seq)
    if row is None:
        raise LookupError(f"{chain} has no entry {seq}")
    ok, message, command, first, last, cut, path, content = row
    if message is not None:
        return bool(ok), json.loads(message)
    if path is None or first is None:
        return bool(ok), results.redacted()
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
