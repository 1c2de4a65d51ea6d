"""The sessions of agents as texts that a dream reads. They are made from the audit, without redacted values.

The hub knows only the memory calls of a session, not the rest of its conversation.
"""

import json
from collections.abc import Sequence
from typing import Any

from memoryhub.models import AuditEntry, Session
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import keeping

MOST_CHARACTERS = 100_000
"""The most characters of all transcripts of a dream: about 30,000 tokens, which are a part of the input of each
answer."""
MOST_CALLS = 1_000
"""The most calls of a session in its transcript: the newest ones."""
MOST_OF_CALL = 4_000
AT_ONCE = MOST_CHARACTERS // MOST_OF_CALL
"""The number of calls that are read at once: as many as the transcripts have room for if all calls are long."""


def transcripts(store_id: str, session_ids: Sequence[str]) -> str:
    """Return the transcripts of sessions, the oldest session first. Together they have at most MOST_CHARACTERS.

    A transcript that would be too long lacks its oldest calls.
    """
    sessions = Session.objects.filter(pk__in=session_ids).select_related("agent").order_by("pk")
    found = [(session, *_calls(store_id, session.pk)) for session in sessions]
    room = _room([sum(map(len, calls)) for _, calls, _ in found])
    return "\n\n".join(_transcript(session, calls, count, room) for session, calls, count in found)


def _transcript(session: Session, calls: Sequence[str], count: int, room: int) -> str:
    head = json.dumps({"session": session.pk, "agent": session.agent.name, "name": session.name}, ensure_ascii=False)
    kept = _newest(calls, room)
    left_out = count - len(kept)
    note = [f"(earlier calls left out: {left_out})"] if left_out else []
    return "\n".join([head, *note, *kept])


def _calls(store_id: str, session_id: str) -> tuple[list[str], int]:
    """Return a session's newest calls, the oldest of them first, and how many calls the session has.

    At most MOST_CALLS calls are returned and counted. If the calls are long, only as many are returned as fill
    MOST_CHARACTERS.
    """
    entries = AuditEntry.objects.of_chain(store_id).of_session(session_id).filter(actor_kind=ActorKind.KEY)
    calls, size = [], 0
    for entry in entries.newest().only("chain", "seq", "at", "command", "ok", "input")[:MOST_CALLS].iterator(AT_ONCE):
        calls.append(_call(entry))
        size += len(calls[-1])
        if size > MOST_CHARACTERS:
            break
    return calls[::-1], min(entries.count(), MOST_CALLS)


def _call(entry: AuditEntry) -> str:
    given = json.dumps(
        {name: value for name, value in input_of(entry).items() if name != "command"}, ensure_ascii=False
    )
    given = given if len(given) <= MOST_OF_CALL else given[:MOST_OF_CALL] + "…"
    return f"{entry.at:%Y-%m-%d %H:%M} {entry.command} {given}{'' if entry.ok else ' (refused)'}"


def _room(lengths: Sequence[int]) -> int:
    """Return how many characters one transcript may have, if all together may have MOST_CHARACTERS.

    Each transcript has an equal share. If short transcripts do not use all of theirs, the long ones get the rest.
    """
    left = MOST_CHARACTERS
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
    return MOST_CHARACTERS


def _newest(calls: Sequence[str], room: int) -> Sequence[str]:
    for number, call in enumerate(reversed(calls)):
        room -= len(call)
        if room < 0:
            return calls[len(calls) - number :]
    return calls


def input_of(entry: AuditEntry) -> dict[str, Any]:
    """Return the input of a call as the audit keeps it: large inputs are shortened.

    For a redacted input, return only the command, and "[redacted]" as the path.
    """
    if entry.input is None:
        return {"command": entry.command, "path": "[redacted]"}
    given, _ = keeping.parts(json.loads(entry.input))
    return given if isinstance(given, dict) else {}
