"""A lock that a thread can give up at any place, also after a stop at any step."""

import threading
from contextlib import suppress


class Turn:
    """Taken by one thread at a time, and never twice by one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # knows its owner: who was stopped while they waited cannot release it
        self._thread = threading.local()

    def take(self) -> None:
        self._thread.has_it = True  # or soon will have it
        self.lock.acquire()

    def give_up(self) -> None:
        """Give it up if this thread has taken it."""
        if getattr(self._thread, "has_it", False):
            with suppress(RuntimeError):
                self.lock.release()
            self._thread.has_it = False

    def is_taken(self) -> bool:
        """Return whether this thread or another one has it."""
        if getattr(self._thread, "has_it", False) or not self.lock.acquire(blocking=False):
            return True
        self.lock.release()
        return False
