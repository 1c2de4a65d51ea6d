"""Makes work that is not urgent give way to other writers: it writes in short transactions and rests between them.

A database does not pass its write lock from one waiting thread to the next: work that took the lock again at once would
keep others waiting.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

SHORT, LONG = 0.025, 0.3
"""Seconds after which a transaction of work that gives way begins no further item: SHORT while others write, LONG
otherwise."""
RECENT = 1.0
"""Others count as writing for this many seconds after one of them began to write."""
LONGEST_REST = 2.0

_thread = threading.local()


class _Last:
    """Times on the monotonic clock. `asked` is when a write last began in a thread that does not give way.

    `rest_until` is the time until which all work that gives way rests.
    """

    asked = float("-inf")
    rest_until = float("-inf")


@contextmanager
def giving_way(*, to_other_processes: bool = False) -> Iterator[None]:
    """Let the writes of this thread inside the block give way to the other threads of this process.

    With `to_other_processes`, this thread rests after each transaction.
    """
    before = _way()
    _thread.way = "always" if to_other_processes else "asked"
    try:
        yield
    finally:
        _thread.way = before


def _way() -> str:
    return getattr(_thread, "way", "")


def stop_giving_way() -> None:
    """Make this thread stop giving way. Call it if a request may have been stopped inside `giving_way`."""
    _thread.way = ""


def others_write() -> bool:
    """Return whether a thread of this process that does not give way has begun to write in the last RECENT seconds."""
    return time.monotonic() - _Last.asked < RECENT


def arrive() -> None:
    """Call this before a write: a thread that gives way rests here while others write.

    With `to_other_processes` (see `giving_way`), it rests even if no others write. A thread that does not give way
    does not rest, and from now on counts as one that writes (see `others_write`).
    """
    if not _way():
        _Last.asked = time.monotonic()
        return
    while (others_write() or _way() == "always") and (rest := _Last.rest_until - time.monotonic()) > 0:
        time.sleep(rest)


def begin() -> float:
    """Note that a transaction of this thread begins; return the current time."""
    _thread.began = now = time.monotonic()
    return now


def end() -> None:
    """Note that this thread's transaction has ended."""
    if _way():
        now = time.monotonic()
        _Last.rest_until = now + min(now - _thread.began, LONGEST_REST)


def some(items: Iterable[T], short: float = SHORT) -> Iterator[T]:
    """Yield at least one item, and more until the transaction has lasted LONG seconds.

    While others write, the limit is `short` seconds.
    """
    began = time.monotonic()
    for number, item in enumerate(items):
        if number and _is_enough(time.monotonic() - began, short):
            return
        yield item


def _is_enough(seconds: float, short: float = SHORT) -> bool:
    return seconds > (short if _way() and others_write() else LONG)


class Size:
    """The number of items for the next transaction of some work: at most `most`, and at least a fifth of `most`."""

    def __init__(self, most: int) -> None:
        self.most = self.next = most

    def learn(self, done: int, taken: int, short: float = SHORT) -> None:
        """At the end of a transaction, adapt the number of items for the next one.

        `taken` items were planned for this transaction, and `done` of them were done. `short` is how many seconds a
        transaction may last while others write.
        """
        if not taken:
            return
        is_enough = _is_enough(time.monotonic() - _thread.began, short)
        following = done if done < taken else done // 2 if is_enough else done * 2
        self.next = min(self.most, max(self.most // 5, 1, following))
