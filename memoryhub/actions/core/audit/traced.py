"""Notes of the entries whose calls this process will send as spans, with the traces of the callers.

A note is made before its transaction is committed: so the code that takes a note drops it if the entry does not exist.
When a process ends, it loses the notes that it has not sent; the audit still has all entries.
"""

from collections import deque
from datetime import datetime
from typing import NamedTuple

MOST = 20_000
"""If nothing takes the notes, the oldest ones are dropped."""
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
    """Note an entry, with the header `traceparent` of its request or an empty text."""
    _noted.append((place, parent if len(parent) <= LONGEST else ""))


def take(most: int = MOST) -> dict[Place, str]:
    """Return {entry: parent} of the oldest notes, at most `most`, and delete these notes."""
    taken: dict[Place, str] = {}
    while _noted and len(taken) < most:
        place, parent = _noted.popleft()
        taken[place] = parent
    return taken
