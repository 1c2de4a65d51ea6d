"""A lock that a thread can give up at any place, whether it has it or not."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 0.0005
"""Seconds in which another thread takes the turn, if one waits for it."""
SWITCH = 0.0005
"""Seconds after which a thread that does long work gives Python's global lock to one that waits for it: a request needs
it a few times."""


class Turn:
    """Taken by one thread at a time, and never twice by one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.long_work = threading.Lock()
        self._thread = threading.local()

    def take(self) -> None:
        self.lock.acquire()
        self._thread.has_it = True

    def give_up(self) -> None:
        """Give it up if this thread has taken it."""
        if getattr(self._thread, "has_it", False):
            self._thread.has_it = False
            self.lock.release()

    @contextmanager
    def in_slices(self) -> Iterator[Callable[[], None]]:
        """Do long work in slices: the yielded function ends one, and lets others take a turn.

        One thread does such work at a time, so that others wait for one slice, and not for one of each thread.
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
        """Return whether this thread or another one has it."""
        if getattr(self._thread, "has_it", False) or not self.lock.acquire(blocking=False):
            return True
        self.lock.release()
        return False
