"""The entries whose calls this process will send as spans, each with its request's `traceparent` header.

An entry is noted before its transaction is committed. If the transaction fails, the caller of `take` drops the entry.
Unsent entries are lost when the process ends.
"""

from collections import deque
from datetime import datetime
from typing import NamedTuple

MOST = 20_000
"""The most entries that are noted. If `take` is not called, the oldest ones are dropped."""
LONGEST = 200
"""The most characters of a header that are kept; a valid header currently has 55."""


class Place(NamedTuple):
    """An entry: its chain, its seq and its time.

    The time is needed because the seq of a failed transaction is used again for another entry.
    """

    chain: str
    seq: int
    at: datetime


_noted: deque[tuple[Place, str]] = deque(maxlen=MOST)


def note(place: Place, parent: str) -> None:
    """Note an entry. `parent` is the `traceparent` header of its request ("": none, or too long)."""
    _noted.append((place, parent if len(parent) <= LONGEST else ""))


def take(most: int = MOST) -> dict[Place, str]:
    """Take out the oldest noted entries, at most `most`. Return {entry: its `traceparent` header}."""
    taken: dict[Place, str] = {}
    while _noted and len(taken) < most:
        place, parent = _noted.popleft()
        taken[place] = parent
    return taken
