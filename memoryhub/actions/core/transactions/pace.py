"""Lets work that may wait give way to everyone else who writes: it writes in short transactions and rests between them.

A write lock is not handed on in turns. Work that took it again at once would keep all others from it.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

SHORT, LONG = 0.025, 0.3
"""Seconds after which a transaction of such work takes up nothing more: while others write, and otherwise."""
RECENT = 1.0
"""Others write if one of them began to within this many seconds."""
LONGEST_REST = 2.0

_thread = threading.local()


class _Last:
    """Times on the monotonic clock: when another thread of this process last began to write, and until when all work
    that gives way rests."""

    asked = float("-inf")
    rest_until = float("-inf")


@contextmanager
def giving_way(*, to_other_processes: bool = False) -> Iterator[None]:
    """Let what this thread writes in the block give way to the other threads of this process.

    With `to_other_processes`, it always rests, because it cannot see whether they write.
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
    """End the block of a request that was stopped at any step."""
    _thread.way = ""


def others_write() -> bool:
    """Return whether other threads of this process write, or did a moment ago."""
    return time.monotonic() - _Last.asked < RECENT


def arrive() -> None:
    """Begin to write. Work that gives way first rests for as long as its last transaction took, if others write."""
    if not _way():
        _Last.asked = time.monotonic()
        return
    while (others_write() or _way() == "always") and (rest := _Last.rest_until - time.monotonic()) > 0:
        time.sleep(rest)


def begin() -> float:
    """Note that a transaction of this thread begins, and holds its locks from now on; return the moment."""
    _thread.began = now = time.monotonic()
    return now


def end() -> None:
    """Note that the transaction has ended."""
    if _way():
        now = time.monotonic()
        _Last.rest_until = now + min(now - _thread.began, LONGEST_REST)


def some(items: Iterable[T], short: float = SHORT) -> Iterator[T]:
    """Yield the first of these items, and more until the transaction has lasted long enough.

    `short` is used in place of SHORT.
    """
    began = time.monotonic()
    for number, item in enumerate(items):
        if number and _is_enough(time.monotonic() - began, short):
            return
        yield item


def _is_enough(seconds: float, short: float = SHORT) -> bool:
    return seconds > (short if _way() and others_write() else LONG)


class Size:
    """How many items the next transaction of some work takes up: at most `most`, and at least a fifth of it, because
    each transaction takes some time for itself."""

    def __init__(self, most: int) -> None:
        self.most = self.next = most

    def learn(self, done: int, taken: int, short: float = SHORT) -> None:
        """Note, at the end of a transaction, how many of the items that it had taken up it has done.

        `short` is used in place of SHORT.
        """
        if not taken:
            return
        is_enough = _is_enough(time.monotonic() - _thread.began, short)
        following = done if done < taken else done // 2 if is_enough else done * 2
        self.next = min(self.most, max(self.most // 5, 1, following))
