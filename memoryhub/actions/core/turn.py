"""A lock that a thread can give up at any place, whether it has it or not."""

import threading


class Turn:
    """Taken by one thread at a time, and never twice by one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._thread = threading.local()

    def take(self) -> None:
        self.lock.acquire()
        self._thread.has_it = True

    def give_up(self) -> None:
        """Give it up if this thread has taken it."""
        if getattr(self._thread, "has_it", False):
            self._thread.has_it = False
            self.lock.release()

    def is_taken(self) -> bool:
        """Return whether this thread or another one has it."""
        if getattr(self._thread, "has_it", False) or not self.lock.acquire(blocking=False):
            return True
        self.lock.release()
        return False
