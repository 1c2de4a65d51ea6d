"""A lock that a thread can give up at any point of its code, whether or not the thread holds it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 0.0005
"""Seconds for which a thread sleeps after it gave up the lock, so that another thread can take the lock."""
SWITCH = 0.0005
"""Seconds after which a thread with long work gives Python's global lock to a waiting thread: a request needs this lock
a few times."""


class Turn:
    """A lock for one thread at a time. A thread that holds the lock must not take it again."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.long_work = threading.Lock()
        self._thread = threading.local()

    def take(self) -> None:
        self.lock.acquire()
        self._thread.has_it = True

    def give_up(self) -> None:
        """Release the lock if this thread holds it."""
        if getattr(self._thread, "has_it", False):
            self._thread.has_it = False
            self.lock.release()

    @contextmanager
    def in_slices(self) -> Iterator[Callable[[], None]]:
        """Do long work in slices. The yielded function ends a slice: it lets other threads take the lock for a while.

        Only one thread at a time does such work.
        """
        self.give_up()
        with self.long_work:
            usual = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH)
            try:
                self.take()
                yield self._pause
            finally:
                self.give_up()
                sys.setswitchinterval(usual)

    def _pause(self) -> None:
        self.give_up()
        time.sleep(PAUSE)
        self.take()

    def is_taken(self) -> bool:
        """Return whether any thread holds the lock."""
        if getattr(self._thread, "has_it", False) or not self.lock.acquire(blocking=False):
            return True
        self.lock.release()
        return False
