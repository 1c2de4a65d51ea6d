"""Who is next at the thread that commits: keys take turns."""

import queue
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Lines(Generic[T]):
    """What waits for the committer, in one line for each key; the lines are served in turns.

    So a key whose calls take long, or come in great numbers, is waited for by others once a turn and not once a call.
    """

    def __init__(self) -> None:
        self._lines: dict[object, deque[T]] = {}
        self._lock = threading.Lock()
        self._places: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.qsize, self.empty = self._places.qsize, self._places.empty

    def put(self, job: T, whose: object = None) -> None:
        with self._lock:
            self._lines.setdefault(whose, deque()).append(job)
        self._places.put(None)

    def get(self) -> T:
        """The first job of the line whose turn it is; waits for one."""
        self._places.get()
        with self._lock:
            whose = next(iter(self._lines))
            line = self._lines.pop(whose)
            job = line.popleft()
            if line:
                self._lines[whose] = line  # behind all others
        return job

    def length(self, whose: object) -> int:
        return len(self._lines.get(whose, ()))
