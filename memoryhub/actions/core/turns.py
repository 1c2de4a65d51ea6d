"""Who is next at threads that all keys share: keys take turns, by the time that they took."""

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
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

    Whoever comes counts as having had what a key would have by now whose share was always the same as the others', so
    nobody saves turns up, and however many new ones come, who has had more waits for its share and no longer. Whoever
    comes seldom waits for the job that runs, and not for what another key has waiting, however long each of its jobs
    takes. `None` is the line of what is nobody's.
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
        self._resting: dict[object, float] = {}
        """Until when, by the monotonic clock."""
        self._share = 0.0
        """Seconds that a key has had by now that always had work waiting."""
        self._raised: set[object] = set()
        """Keys that came with less, whose first job has not ended yet."""
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
            if whose not in self._ready:
                self._open(whose)
            self._ready[whose].append(beside.popleft())
            self._places.put(None)
        if not beside:
            self._beside.pop(whose, None)

    def _open(self, whose: object) -> None:
        self._ready[whose] = deque()
        if self._had.get(whose, 0.0) <= self._share:
            self._had[whose] = self._share
            self._raised.add(whose)

    def get(self) -> tuple[object, T]:
        """Whose turn it is, and the first job of that line; waits for one. Say `took` when it is done."""
        pause = None
        while True:
            with suppress(Empty):
                self._places.get(timeout=pause)
            with self._lock:
                now = time.monotonic()
                for whose in [whose for whose, until in self._resting.items() if until <= now]:
                    del self._resting[whose]
                    self._let_in(whose)
                if self._ready:
                    return self._first()
                pause = min((until - now for until in self._resting.values()), default=None)

    def _first(self) -> tuple[object, T]:
        whose = self._next()
        line = self._ready.pop(whose)
        job = line.popleft()
        self._count -= 1
        if line:
            self._ready[whose] = line  # behind the others that have had as much
        self._share = max(self._share, self._had[whose])
        self._had[whose] += LEAST
        if len(self._had) > MOST_KEPT:
            self._forget()
        return whose, job

    def _next(self) -> object:
        return min(self._ready, key=self._had.__getitem__)

    def _forget(self) -> None:
        """Keeps the keys that had most, and those that wait: of the others it makes little difference."""
        kept = sorted(self._had, key=self._had.__getitem__)[-MOST_KEPT // 2 :]
        self._had = {whose: self._had[whose] for whose in {*kept, *self._ready}}
        self._slow = {whose: until for whose, until in self._slow.items() if until > time.monotonic()}
        self._slow_last.intersection_update(self._slow)

    def took(self, whose: object, seconds: float) -> None:
        """A job of this key is done, and took so long."""
        self.charge(whose, seconds)
        self.done(whose)

    def charge(self, whose: object, seconds: float) -> None:
        """A job of this key took so long, and may go on."""
        with self._lock:
            self._had[whose] = self._had.get(whose, self._share) + max(seconds - LEAST, 0.0)
            if whose in self._raised:  # else nobody's time would grow while there are always new ones
                self._raised.discard(whose)
                self._share += max(seconds, LEAST) / max(len(self._at_once), 1)
            self._note_slow(whose, seconds)

    def done(self, whose: object) -> None:
        """A job of this key is done: the next of it may come into the line."""
        with self._lock:
            self._at_once[whose] -= 1
            self._let_in(whose)
            if not self._at_once[whose]:
                del self._at_once[whose]
                self._raised.discard(whose)

    @contextmanager
    def time_of(self, whose: object) -> Iterator[None]:
        """What a job of this key does in here is charged, by processor time: a busy machine is nobody's doing."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.charge(whose, time.thread_time() - began)

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
            self._resting[whose] = now + rest
            ready = self._ready.pop(whose, deque())
            self._at_once[whose] -= len(ready)
            self._beside.setdefault(whose, deque()).extendleft(reversed(ready))

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

    def has_place(self, whose: object, most_waiting: int) -> bool:
        """Whether one more may wait: `most_waiting` of all, half of so many of one key."""
        return self._count < most_waiting and (whose is None or self.waiting(whose) * 2 < most_waiting)
