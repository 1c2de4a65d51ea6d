"""Replays the recorded calls of a session without effect, on the store as it was before the calls, or as it is now."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.actions.core import plans
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions.trial import without_effect
from memoryhub.actions.history import apply_plan
from memoryhub.actions.memories import calls, trials
from memoryhub.actions.memories.calls import Caller
from memoryhub.models import Access, AuditEntry, Door, Key, MemoryStore, MemoryVersion, Session
from memoryhub.models.audit import LAST_SEQ, ActorKind
from memoryhub.pure import ids
from memoryhub.pure.protocol.results import COMMANDS, PROPOSED
from memoryhub.pure.text import diffs, keeping
from memoryhub.pure.text.diffs import Diff
from memoryhub.web.audit.answer import answer_of, is_redacted
from memoryhub.web.audit.entry import Call, call_of
from memoryhub.web.audit.masking import Entries
from memoryhub.web.tried.reasons import Reason, Reasons, Span

MOST_CALLS = 100
"""The most calls of one replay."""
LONGEST = 1.5
"""After this many seconds, a replay begins no further call, because writers of the store have to wait for the replay.
The first call always runs."""
MOST_CHANGED = 300
"""The most memories that are put back to their state at the beginning of the replay."""

_NUMBER = re.compile(re.escape(PROPOSED) + r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as a page shows it, and whether it is an error."""

    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded call with its answers then and now."""

    entry: AuditEntry
    call: Call | None
    then: Answer | None
    now: Answer | None = None  # None if the call was not replayed
    skipped: str = ""  # why the call was not replayed
    reasons: Sequence[Reason] = ()  # why the answers differ
    diff: Diff | None = None  # the difference between the two answers
    memory: str | None = None  # the id of the replayed call's memory

    @property
    def differs(self) -> bool:
        return bool(self.reasons)


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of a replay: the calls in order."""

    calls: Sequence[Replayed]
    next: int | None  # the seq of the first call that was not reached, or None
    kept: Sequence[str]  # the paths of memories that could not be put back
    others: int  # acts of the session that are no calls of the memory tool

    @property
    def same(self) -> int:
        return sum(call.now is not None and not call.differs and not call.skipped for call in self.calls)

    @property
    def uncompared(self) -> int:
        return sum(call.now is not None and bool(call.skipped) for call in self.calls)

    @property
    def different(self) -> int:
        return sum(call.differs for call in self.calls)

    @property
    def skipped(self) -> int:
        return sum(call.now is None for call in self.calls)


def replay(store: MemoryStore, session: Session, start: int, at: datetime, *, is_past: bool) -> Replay:
    """Replay the calls of a session without effect, beginning with the entry `start`.

    If `is_past`, the store is first put back to its state before that entry. Raises ToolError and plans.TooMuch if that
    is not possible.
    """
    entries = list(
        AuditEntry.objects.of_chain(store.pk)
        .of_session(session.pk)
        .filter(seq__gte=start, actor_kind=ActorKind.KEY)
        .oldest()[: MOST_CALLS + 1]
    )
    keys = Key.objects.select_related("agent").in_bulk({entry.actor_id for entry in entries})
    if is_past:
        _require_few_changed(store, start)
    done: list[Replayed | None] = []
    began = time.monotonic()
    with without_effect():
        last = AuditEntry.objects.of_chain(store.pk).newest().values_list("seq", flat=True)[0]
        act = Act(Actor.system("replay"), Door.WEB, at)
        kept = apply_plan.put_back(store.pk, start - 1, act) if is_past else []
        reasons = Reasons(store, session, Span(start, last, is_past, kept), at)
        run = _Run(store, ids.new_id(ids.SESSION, at), at, keys, reasons)
        for entry in entries[:MOST_CALLS]:
            if done and time.monotonic() - began > LONGEST:
                break
            done.append(run.one(entry))
    reached = len(done)
    following = entries[reached].seq if reached < len(entries) else None
    return Replay([one for one in done if one is not None], following, kept, sum(one is None for one in done))


def _require_few_changed(store: MemoryStore, start: int) -> None:
    """Raise TooMuch if more than MOST_CHANGED memories have changed since the entry `start`."""
    later = MemoryVersion.objects.filter(store_id=store.pk).between(start - 1, LAST_SEQ)
    changed = len(later.order_by().values_list("memory_id", flat=True).distinct()[: MOST_CHANGED + 1])
    if changed > MOST_CHANGED:
        raise plans.TooMuch(changed, MOST_CHANGED)


class _Run:
    """Runs recorded calls one by one, in a new session with the name of the recorded session."""

    def __init__(self, store: MemoryStore, name: str, at: datetime, keys: dict[str, Key], reasons: Reasons) -> None:
        self._store, self._name, self._at, self._keys, self._reasons = store, name, at, keys, reasons

    def one(self, entry: AuditEntry) -> Replayed | None:
        """Replay one call. Return None for an act that is not a call of the memory tool."""
        if not Door(entry.door).has_tool or entry.command not in (*COMMANDS, None):
            return None
        entries = Entries([entry])
        shown, call = answer_of(entry, entries), call_of(entry, entries)
        then = None if shown is None else Answer(shown.text, not entry.ok)
        key, input, skipped = self._keys.get(str(entry.actor_id)), _input(entry), _why_skipped(entry)
        if skipped or key is None or input is None:
            self._reasons.left_out(entry)
            return Replayed(entry, call, then, skipped=skipped or _("Its key does not exist any more."))
        caller = Caller(key.pk, key.agent_id, key.agent.name, Access(key.access), False, True)
        act = Act(caller.actor, Door(entry.door), self._at)
        trials.call_again(self._store.pk, input, caller, act, self._name)
        new = AuditEntry.objects.of_chain(self._store.pk).newest()[0]
        answer = answer_of(new, Entries([new]))
        now = Answer(answer.text if answer else "", not new.ok)
        if then is None or shown is None or shown.removed or (shown.redacted and not shown.fits):
            why = _("The answer that it had was removed or redacted.")
            return Replayed(entry, call, None, now, skipped=why, memory=new.memory)
        before, after = calls.answer_of(entry.chain, entry.seq)[1], calls.answer_of(new.chain, new.seq)[1]
        if entry.ok == new.ok and _comparable(before) == _comparable(after):
            return Replayed(entry, call, then, now, memory=new.memory)
        reasons = self._reasons.of(entry, before, new, after)
        diff = diffs.compare(then.text, now.text)
        return Replayed(entry, call, then, now, reasons=reasons, diff=diff, memory=new.memory)


def _comparable(answer: str) -> str:
    """Return an answer without the number of a proposal, because that number differs in a replay."""
    return _NUMBER.sub(PROPOSED, answer)


def _input(entry: AuditEntry) -> dict[str, Any] | None:
    try:
        value = json.loads(entry.input or "null")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _why_skipped(entry: AuditEntry) -> str:
    """Return why a recorded call cannot be run again, or "" if it can."""
    if entry.replay_of is not None:
        return _("This call was sent again: it repeats entry %(seq)s.") % {"seq": entry.replay_of}
    if entry.input is None or is_redacted(entry, "input"):
        return _("Its input was redacted.")
    if _input(entry) is None and keeping.parts(json.loads(entry.input))[1] is not None:
        return _("Only a part of its large input is kept.")
    return "" if _input(entry) is not None else _("Its input cannot be read.")
