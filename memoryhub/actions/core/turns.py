"""Who is next at threads that all keys share: keys take turns, by the time that they took."""

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

SLOW = 0.05
"""Seconds of a key's last job from which on its next one is expected to be slow."""
LEAST = 0.001
"""Seconds that a turn counts at least, until it is known how long it took."""
SLOW_AT_ONCE = 2.0
"""Seconds of slow jobs that a key may have one after the other; then it rests after each of them."""
SLOW_SHARE = 0.2
"""The share of the time that it may have for them in the long run."""
LONGEST_REST = 5.0
MOST_KEPT = 1024


class Lines(Generic[T]):
    """What waits for a thread, in one line for each key; next is the key that has had least time.

    A key that comes back counts as having had as much as the one served last, so nobody saves turns up. Whoever comes
    seldom waits for the job that runs, and not for what another key has waiting, however long each of its jobs takes.
    `None` is the line of what is nobody's.
    """

    def __init__(self, *, most_at_once: int | None = None, slow_ones_rest: bool = False) -> None:
        """`most_at_once`: so many jobs of one key may be ready or running; its others wait beside the line.

        `slow_ones_rest`: a key of slow jobs waits beside, too, until others have had their share of the time.
        """
        self._most_at_once, self._slow_ones_rest = most_at_once, slow_ones_rest
        self._ready: dict[object, deque[T]] = {}
        self._beside: dict[object, deque[T]] = {}
        self._at_once: Counter[object] = Counter()
        self._had: dict[object, float] = {}
        self._slow: dict[object, float] = {}
        """Until when, by the monotonic clock, what a key had in slow jobs counts."""
        self._slow_last: set[object] = set()
        self._resting: set[object] = set()
        self._served = 0.0
        self._count = 0
        self._lock = threading.Lock()
        self._places: SimpleQueue[None] = SimpleQueue()

    def put(self, job: T, whose: object = None) -> None:
        with self._lock:
            self._count += 1
            self._beside.setdefault(whose, deque()).append(job)
            self._let_in(whose)

    def _let_in(self, whose: object) -> None:
        """Those that wait beside the line go into it, as many as may."""
        if whose in self._resting:
            return
        beside = self._beside.get(whose)
        while beside and (whose is None or not self._most_at_once or self._at_once[whose] < self._most_at_once):
            self._at_once[whose] += 1
            self._ready.setdefault(whose, deque()).append(beside.popleft())
            self._places.put(None)
        if not beside:
            self._beside.pop(whose, None)

    def get(self) -> tuple[object, T]:
        """Whose turn it is, and the first job of that line; waits for one. Say `took` when it is done."""
        while True:
            self._places.get()
            with self._lock:
                if self._ready:
                    return self._first()

    def _first(self) -> tuple[object, T]:
        whose = self._next()
        line = self._ready.pop(whose)
        job = line.popleft()
        self._count -= 1
        if line:
            self._ready[whose] = line  # behind the others that have had as much
        self._served = max(self._served, self._had.get(whose, 0.0))
        self._had[whose] = self._served + LEAST
        if len(self._had) > MOST_KEPT:
            self._forget()
        return whose, job

    def _next(self) -> object:
        return min(self._ready, key=lambda whose: max(self._had.get(whose, 0.0), self._served))

    def _forget(self) -> None:
        """Keeps the keys that had most: of the others it makes little difference."""
        kept = sorted(self._had, key=self._had.__getitem__)[-MOST_KEPT // 2 :]
        self._had = {whose: self._had[whose] for whose in kept}
        self._slow = {whose: until for whose, until in self._slow.items() if until > time.monotonic()}
        self._slow_last.intersection_update(self._slow)

    def took(self, whose: object, seconds: float) -> None:
        """A job of this key is done."""
        with self._lock:
            self._had[whose] = max(self._had.get(whose, 0.0), self._served) + seconds
            self._at_once[whose] -= 1
            self._note_slow(whose, seconds)
            self._let_in(whose)
            if not self._at_once[whose]:
                del self._at_once[whose]

    @contextmanager
    def time_of(self, whose: object) -> Iterator[None]:
        """A job of this key is done in here, and has the processor time: that the machine is busy is nobody's doing."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.took(whose, time.thread_time() - began)

    def _note_slow(self, whose: object, seconds: float) -> None:
        if seconds < SLOW:
            self._slow_last.discard(whose)
        if seconds < SLOW or not self._slow_ones_rest or whose is None:
            return
        self._slow_last.add(whose)
        now, at_once = time.monotonic(), SLOW_AT_ONCE / SLOW_SHARE
        self._slow[whose] = min(
            max(self._slow.get(whose, now), now) + seconds / SLOW_SHARE, now + at_once + LONGEST_REST
        )
        rest = self._slow[whose] - now - at_once
        if rest > 0 and whose not in self._resting:
            self._resting.add(whose)
            ready = self._ready.pop(whose, deque())
            self._at_once[whose] -= len(ready)
            self._beside.setdefault(whose, deque()).extendleft(reversed(ready))
            timer = threading.Timer(rest, self._rested, [whose])
            timer.daemon = True
            timer.start()

    def _rested(self, whose: object) -> None:
        with self._lock:
            self._resting.discard(whose)
            self._let_in(whose)

    def is_slow_next(self) -> bool:
        """Whether something is ready, and it belongs to a key whose last job was slow."""
        with self._lock:
            return bool(self._ready) and bool(self._slow_last) and self._next() in self._slow_last

    def empty(self) -> bool:
        """Whether nothing is ready."""
        return not self._ready

    def waiting(self, whose: object) -> int:
        """How many jobs of a key wait, ready or not."""
        return len(self._ready.get(whose, ())) + len(self._beside.get(whose, ()))

    def all_waiting(self) -> int:
        return self._count
