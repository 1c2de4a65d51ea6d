"""Tool calls. Each call runs once, even if it is sent again, and gets its answer and its audit entry."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from memoryhub.actions.core import audit, notes_to_agents, sql, tree
from memoryhub.actions.core.audit import Act, Actor, Record, keys
from memoryhub.actions.core.rules import limits
from memoryhub.actions.core.rules.limits import Usage
from memoryhub.actions.core.transactions import remembered, together, writing
from memoryhub.actions.findings import ahead
from memoryhub.actions.findings.ahead import Ahead
from memoryhub.actions.memories import commands, input_masking, questions, refused_calls
from memoryhub.models import Access
from memoryhub.models.audit import ActorKind
from memoryhub.pure import compact_json, ids
from memoryhub.pure.protocol import rendering, results
from memoryhub.pure.protocol.commands import WRITES, Command, View, meant, parse
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.kinds import is_no_error
from memoryhub.pure.text import keeping

_canonical = compact_json.writer(sort_keys=True)

KEY_EXACT_TO = timedelta(minutes=1)


class TokenReused(Exception):
    """The token was already used for a call with another input."""


class NotRun(Exception):
    """A limit of the store forbids the call, or its key was revoked. Nothing was run and nothing was recorded."""

    def __init__(self, message: str, limit: int = 0) -> None:
        super().__init__(message)
        self.limit = limit


class TooManyCalls(NotRun):
    """With these calls, the key would exceed the store's limit of calls. It may call again in `wait` seconds."""

    def __init__(self, limit: int, wait: int, calls: int) -> None:
        super().__init__(f"{limit} calls in 60 seconds", limit)
        self.wait, self.calls = wait, calls


class TooManyAtOnce(NotRun):
    """The message has more calls than the store's limit allows in a minute, so it could never run."""

    def __init__(self, limit: int, calls: int) -> None:
        super().__init__(f"{calls} calls at once, and {limit} in 60 seconds", limit)
        self.calls = calls


class AuditFull(NotRun):
    """The store's audit has reached its size limit, and no call may run without an entry."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the audit has reached {limit} bytes", limit)


class KeyRevoked(NotRun):
    """The key was revoked while the call waited, or while an earlier call of the same message ran."""

    def __init__(self) -> None:
        super().__init__("the key was revoked")


class Caller(NamedTuple):
    """The key of a request. `reaches`: the store of the request exists and the key may use it.

    `body_bytes` is the store's limit for a request's body (None: the limit of the settings). `stale`: the time of the
    key's last use needs an update.
    """

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


class Viewed(NamedTuple):
    """The target of a view: a path, and the id of the memory at the path (None: a directory or nothing)."""

    path: str
    memory: str | None


class Outcome(NamedTuple):
    """The result of a call."""

    text: str  # the answer
    ok: bool  # False if the answer is an error
    seq: int  # the seq of the call's entry
    usage: Usage  # the usage of the store after the call
    replayed: bool = False  # the call was a repetition
    viewed: Viewed | None = None  # set for a view, if the store shows agents their proposed changes


def digest_of_key(secret: str) -> str:
    """Return the digest of a key's secret. Keys are stored with this digest, and found by it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_caller(secret: str, store_id: str, at: datetime) -> Caller | None:
    """Return the caller with this key, or None if the key is not valid at this moment."""
    return caller_of_digest(digest_of_key(secret), store_id, at)


def caller_of_digest(digest: str, store_id: str, at: datetime) -> Caller | None:
    """Return the caller whose key has this digest, or None if the key is not valid at this moment."""
    row: Any = remembered.read(lambda: sql.first(sql.CALLER, store_id, digest), "caller", store_id, digest)
    if row is None:
        return None
    key, agent, label, access, used, expires, reaches, body_bytes = row
    if expires is not None and expires <= sql.moment(at):
        return None
    stale = used is None or used < sql.moment(at - KEY_EXACT_TO)
    return Caller(key, agent, label, Access(access), stale, bool(reaches), body_bytes)


def digest_of_input(input: Mapping[str, Any]) -> str:
    """Return a keyed digest of an input. A repeated input has the same digest.

    The order of the parameters does not matter. Parameters that are None or that the hub ignores do not count.
    """
    return _keyed(hashlib.sha256(_canonical(meant(input)).encode()).hexdigest())


def _keyed(digest: str) -> str:
    return hmac.digest(keys.first(), b"input\0" + digest.encode(), "sha256").hex()


def _is_same(stored: str, digest: str) -> bool:
    """Return whether `stored` and `digest` are digests of the same input. In old rows, `stored` is a plain SHA-256."""
    return digest in (stored, _keyed(stored))


def is_reused(store_id: str, key: str, token: str | None, digest: str) -> bool:
    """Return whether a token was already used for a call with another input; False if `token` is None."""
    sql.connect()
    row = sql.one(sql.IDEMPOTENT_CALL, store_id, key, token)
    return row is not None and not _is_same(row[0], digest)


def call(
    store_id: str, input: Mapping[str, Any], digest: str, caller: Caller, act: Act, session: str | None, counts: int = 1
) -> Outcome:
    """Run one call in one transaction and return its outcome. `session` is the agent's own name for its session.

    `counts` is added to the key's number of calls. Of several calls in one request, the first one counts all of them,
    and the others count 0. Raises TokenReused, TooManyCalls, TooManyAtOnce, AuditFull, KeyRevoked and tree.NoSuchStore.
    """
    command = parsed(input)
    text = audit.to_json(input)
    known = ahead.of_command(store_id, command)
    work = partial(locked_call, store_id, command, input, text, digest, caller, act, session, counts, known)
    outcome = together(work, caller.key)
    if isinstance(outcome, NotRun | TokenReused):
        if isinstance(outcome, TooManyCalls):
            refused_calls.note(store_id, caller.key, outcome.calls, act.at)
        raise outcome
    return outcome


def locked_call(
    store_id: str,
    command: Command | ToolError,
    input: Mapping[str, Any],
    text: str,
    digest: str,
    caller: Caller,
    act: Act,
    session: str | None,
    counts: int,
    known: Ahead = ahead.NOTHING,
) -> Outcome | NotRun | TokenReused:
    """Run the call. Refusals are returned, because an exception would repeat all calls of the same commit."""
    with writing():
        sql.ask_ahead(questions.of_call(store_id, command, session, act))
        store = tree.lock(store_id, act)
        store.looked, store.at_hand = known
        window = _window(store, caller.key, counts)
        if isinstance(window, NotRun):
            return TokenReused(act.token) if is_reused(store_id, caller.key, act.token, digest) else window
        first = _first_of(store, caller.key, digest)
        if isinstance(first, TokenReused):
            return first
        made = _note_calls(store, caller.key, window)
        note_use(store, caller, session)
        outcome = answered(store, command, input, text, caller, first, made)
        remembered.put((store.memories, store.total_bytes, store.head), "totals", store.store)  # for `tree.lock`
        return outcome


def answered(
    store: tree.Tree,
    command: Command | ToolError,
    input: Mapping[str, Any],
    text: str,
    caller: Caller,
    first: int | None = None,
    made: int | None = None,
) -> Outcome:
    """Run the call on the locked store, and write its entry.

    If the call repeats an earlier one, `first` is the seq of the earlier call. `made` is the number of the key's calls
    in the last minute.
    """
    done = _record(store, command, caller, first)
    if isinstance(command, View):
        _deliver_notes(store, done, first)
    record = input_masking.of_call(store, done, input, text)
    seq = tree.commit(store, record)
    sees_all = store.sight is None
    memories, total = (store.memories, store.total_bytes) if sees_all else (None, None)
    usage = Usage(memories, total, made, store.limits)
    answer = record.answer or ""
    ok = record.ok or is_no_error(answer)
    shown = _whole(store, command, answer, input) if first else answer
    shown = f"{shown}\n{store.act.note}" if store.act.note else shown
    shows = isinstance(command, View) and store.shows_proposed
    viewed = Viewed(str(record.path), record.memory) if shows and record.path is not None else None
    return Outcome(shown, ok, seq, usage, first is not None, viewed)


def _deliver_notes(store: tree.Tree, record: Record, first: int | None) -> None:
    """Deliver to the agent the new notes about the viewed memory. A view that repeats the call `first` gets that call's
    notes."""
    note = None
    if first is not None:
        row = sql.one(sql.NOTE, store.store, first)
        note = row[0] if row else None
    elif record.has_notes:
        note = notes_to_agents.deliver(store, str(record.memory))
    if note:
        store.act = store.act._replace(note=note)


def _whole(store: tree.Tree, command: Command | ToolError, answer: str, input: Mapping[str, Any]) -> str:
    """Return the full answer of a repeated call. `answer` is the answer that the audit has stored.

    If the answer quotes a long text of the input, the audit stores only a part of the quotation. The missing part is
    taken from `command` or `input`.
    """
    if isinstance(command, ToolError) and keeping.is_cut(answer):
        return store.ruling.masked(command.message)
    quoted = store.ruling.masked_in(input.get("old_str"))
    return keeping.whole_answer(answer, quoted) if isinstance(quoted, str) else answer


def count(store: tree.Tree, key: str, counts: int) -> int | NotRun | None:
    """Count calls of a key. Return how many it made in the last minute (None: there is no limit), or a refusal."""
    window = _window(store, key, counts)
    return window if isinstance(window, NotRun) else _note_calls(store, key, window)


def _window(store: tree.Tree, key: str, counts: int) -> limits.Window | NotRun | None:
    """Return the window that counts the key's calls, with `counts` new calls added to it; or a refusal.

    None if there is no limit, or if `counts` is 0.
    """
    row = remembered.read(lambda: sql.one(sql.CALLS, store.store, key), "calls", store.store, key)
    # Every call comes here, and as the store is locked, the key cannot be revoked later.
    if row is None:
        return KeyRevoked()
    most = store.limits.audit_bytes
    if most is not None and store.head.bytes >= most:
        return AuditFull(most)
    limit = store.limits.calls
    if limit is None or not counts:
        return None
    if counts > limit:
        return TooManyAtOnce(limit, counts)
    window = limits.count_calls(json.loads(row[0]) if row[0] else (), store.at, counts, limit)
    return TooManyCalls(limit, window.wait, counts) if window.seconds is None else window


def _note_calls(store: tree.Tree, key: str, window: limits.Window | None) -> int | None:
    if window is None:
        return None
    seconds = audit.to_json(window.seconds)
    sql.run(sql.SET_CALLS, store.store, key, seconds)
    remembered.put((seconds,), "calls", store.store, key)
    return window.calls


def _first_of(store: tree.Tree, key: str, digest: str) -> int | TokenReused | None:
    """Return the seq of the call that this one repeats; None for a new call, which is stored.

    TokenReused is returned if the token belongs to a call with another input.
    """
    place = (store.store, key, store.act.token)
    row = sql.find_or_add((sql.IDEMPOTENT_CALL, place), sql.ADD_IDEMPOTENT_CALL, *place, digest, store.seq, store.now)
    if row is None:
        return None
    return int(row[1]) if _is_same(row[0], digest) else TokenReused(store.act.token)


def parsed(input: Mapping[str, Any]) -> Command | ToolError:
    """Return the command of an input, or the error with which the call is answered."""
    try:
        return parse(input)
    except ToolError as error:
        return error


def _record(store: tree.Tree, command: Command | ToolError, caller: Caller, first: int | None) -> Record:
    """Run a call and return its record. A call that repeats the call `first` gets that call's answer; a view runs
    again."""
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
    """Return (whether a call succeeded, its answer). Raises LookupError if there is no such entry.

    If the answer is not stored, it is rendered again. If the text in it was redacted, the answer says only that.
    """
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
    """Render again the answer of a view or a str_replace, which showed `content` (None: the text was redacted)."""
    if content is None:
        return results.redacted()
    if command == View.name:
        return rendering.view_again(path, content, first, last, cut)
    return rendering.edited_again(content, first, last)


def note_use(store: tree.Tree, caller: Caller, session: str | None) -> None:
    """Record the last use of a key and of its session. Put the session's id into the act of `store`."""
    at = store.at
    note_key(caller, at)
    if session is not None:
        store.act = store.act._replace(session=_session(caller.agent, session, at))


def note_key(caller: Caller, at: datetime) -> None:
    """Record the last use of a key, at most about once a minute."""
    if caller.stale:
        sql.run(sql.KEY_USED, sql.moment(at), caller.key)
        remembered.forget()


def _session(agent: str, name: str, at: datetime) -> str:
    now = sql.moment(at)
    row = sql.one(sql.SESSION, *questions.values_of_session(agent, name, at))
    if row is None:
        sql.run(sql.ADD_SESSION, ids.new_id(ids.SESSION, at), agent, name, now, now)
        row = sql.one(sql.SESSION, now, agent, name)
        assert row is not None  # just added, by this call or by another
    elif row[1]:
        sql.run(sql.SESSION_SEEN, now, row[0])
    return str(row[0])
