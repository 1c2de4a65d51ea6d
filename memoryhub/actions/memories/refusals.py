"""Records refused requests in the hub's audit.

For a valid key, the first MOST requests of a minute have their own entries; the others are counted. For a key that has
ended, one request a minute is recorded.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories.calls import Caller, digest_of_key, note_key
from memoryhub.models import Access, Door, Key, RefusalWindow, Session
from memoryhub.pure import chain

MOST = 30
"""The most entries per minute for the refusals of one key; further refusals are counted in one entry."""
MINUTE = timedelta(minutes=1)
LONGEST_ID = 128
"""The most characters that are kept of an unknown id."""
MOST_ENDED = 4096
"""The most ended keys whose last entry this process remembers."""
_ended: dict[str, float] = {}
"""For each key that has ended, when its last refused request was recorded (`time.monotonic`)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: its store, the status and the reason of the answer, the agent's session, and the call's
    token."""

    store_id: str
    status: int
    reason: str
    session: str | None = None
    token: str | None = None


def note(caller: Caller, refusal: Refusal, *, door: Door, at: datetime) -> None:
    """Record that a request of a valid key was refused.

    The first MOST such requests of a key in a minute each get an entry in the hub's chain; further ones are only
    counted.
    """
    details = {
        "memory_store": refusal.store_id[:LONGEST_ID], "status": refusal.status, "reason": refusal.reason,
        **({"session": refusal.session} if refusal.session else {}),
    }  # fmt: skip
    with writing():
        head = audit.lock_hub()
        note_key(caller, at)
        window = RefusalWindow.objects.filter(pk=caller.key).first() or RefusalWindow(key=caller.key, since=at)
        if not timedelta() <= at - window.since < MINUTE:
            _write_counted(head, window, caller.actor, at)
            window.since, window.written, window.counted = at, 0, 0
        if window.written < MOST:
            window.written += 1
            known = Session.objects.filter(agent=caller.agent, name=refusal.session)
            session = known.values_list("pk", flat=True).first() if refusal.session else None
            act = Act(caller.actor, door, at, session, refusal.token)
            audit.append(head, act, Record("refused", ok=False, input=audit.to_json(details)))
        else:
            window.counted += 1
        window.door = door.value
        window.save()


def of_ended_key(secret: str, at: datetime) -> tuple[Caller, str] | None:
    """Return (the caller that had this key, a sentence about its end); None if no ended key has this secret."""
    key = Key.objects.select_related("agent").filter(digest=digest_of_key(secret)).first() if secret else None
    if key is None:
        return None
    caller = Caller(key.pk, key.agent_id, key.agent.name, Access(key.access), stale=False, reaches=False)
    if key.revoked_at is not None:
        return caller, f"The key was revoked on {key.revoked_at:%Y-%m-%d}."
    if key.expires_at is not None and key.expires_at <= at:
        return caller, f"The key expired on {key.expires_at:%Y-%m-%d}."
    return None


def is_due_for_ended(key: str) -> bool:
    """Return whether to record a refused request of a key that has ended: the first one in each minute."""
    now = time.monotonic()
    if now - _ended.get(key, -MINUTE.total_seconds()) < MINUTE.total_seconds():
        return False
    if len(_ended) >= MOST_ENDED:
        _ended.clear()
    _ended[key] = now
    return True


def write_counted(at: datetime, most: int = 100) -> int:
    """Write an entry for each count whose minute is over, and delete the count. Return how many entries were
    written."""
    with writing():
        head = audit.lock_hub()
        over = list(RefusalWindow.objects.filter(Q(since__lte=at - MINUTE) | Q(since__gt=at + MINUTE))[:most])
        agents = Key.objects.select_related("agent").in_bulk([window.key for window in over])
        for window in over:
            key = agents.get(window.key)
            actor = Actor.key(key.pk, key.agent) if key else Actor.system(window.key)
            _write_counted(head, window, actor, at)
            window.delete()
    return len(over)


def _write_counted(head: audit.ChainHead, window: RefusalWindow, actor: Actor, at: datetime) -> None:
    if window.counted:
        details = {"count": window.counted, "since": chain.moment(window.since)}
        record = Record("refused_more", ok=False, input=audit.to_json(details))
        audit.append(head, Act(actor, Door(window.door), at), record)
