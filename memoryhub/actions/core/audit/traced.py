"""The entries whose calls this process will send as spans, each with the `traceparent` header of its request.

An entry is noted before its transaction is committed. If the transaction fails, the entry does not exist, and the code
that calls `take` drops it. When a process ends, it loses the entries that it has not sent as spans; the audit still has
all entries.
"""

from collections import deque
from datetime import datetime
from typing import NamedTuple

MOST = 20_000
"""The most entries that are noted. If `take` is not called, the oldest ones are dropped."""
LONGEST = 200
"""The most characters of a header that are kept; a valid header currently has 55."""


class Place(NamedTuple):
    """An entry: its chain, its seq and its time. The time is needed because the seq is used again if a transaction
    failed."""

    chain: str
    seq: int
    at: datetime


_noted: deque[tuple[Place, str]] = deque(maxlen=MOST)


def note(place: Place, parent: str) -> None:
    """Note an entry. `parent` is the `traceparent` header of its request, or an empty text. A header that is too long
    is noted as an empty text."""
    _noted.append((place, parent if len(parent) <= LONGEST else ""))


def take(most: int = MOST) -> dict[Place, str]:
    """Return {entry: its `traceparent` header} for the oldest noted entries, at most `most`, and forget these
    entries."""
    taken: dict[Place, str] = {}
    while _noted and len(taken) < most:
        place, parent = _noted.popleft()
        taken[place] = parent
    return taken
