"""Fair queues for shared threads: keys take turns by the processing time that they have used."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
Result = TypeVar("Result")

SLOW = 0.05
"""A job of this many seconds is slow. The next job of its key is then expected to be slow too."""
LEAST = 0.001
"""The least time, in seconds, that a turn counts, until its real duration is known."""
SLOW_AT_ONCE = 2.0
"""Seconds of slow jobs that a key may run in a row; after that, the key rests after each slow job."""
SLOW_SHARE = 0.2
"""The share of the time that a key may use for slow jobs in the long run."""
LONGEST_REST = 5.0
MOST_KEPT = 1024


class Lines(Generic[T]):
    """Jobs that wait for a thread, in one queue per key. The next job comes from the key that has used the least time.

    A key that is new, or had no jobs for a while, counts as if it had used as much time as a key that always has jobs.
    The key `None` is for jobs without a key.
    """

    def __init__(self, *, most_at_once: int | None = None, slow_ones_rest: bool = False) -> None:
        """Set the bounds of each key. At most `most_at_once` jobs of a key are ready or running.

        Other jobs of the key wait in a second queue, aside. With `slow_ones_rest`, the jobs of a key with slow jobs
        also wait aside until other keys have had their share.
        """
        self._most_at_once, self._slow_ones_rest = most_at_once, slow_ones_rest
        self._ready: dict[object, deque[T]] = {}
        self._beside: dict[object, deque[T]] = {}
        self._at_once: Counter[object] = Counter()
        self._had: dict[object, float] = {}
        self._slow: dict[object, float] = {}
        """{key: the moment, on the monotonic clock, when the key's slow jobs so far amount to at most SLOW_SHARE of
        the time}.

        Each slow job moves this moment on by the seconds of the job, divided by SLOW_SHARE.
        """
        self._slow_last: set[object] = set()
        self._resting: dict[object, float] = {}
        """{key: the time on the monotonic clock when the key's rest ends}."""
        self._share = 0.0
        """The seconds that a key whose jobs never run out would have used by now."""
        self._raised: set[object] = set()
        """Keys whose used time was raised to `_share`, and whose first job since then has not ended."""
        self._count = 0
        self._lock = threading.Lock()
        self._idle: list[threading.Lock] = []
        """A held lock for each thread that waits for a job. Releasing a lock wakes its thread.

        The thread that began to wait last is woken first, because its data is most likely still in the cache of the
        processor.
        """

    def put(self, job: T, whose: object = None) -> None:
        with self._lock:
            self._count += 1
            self._beside.setdefault(whose, deque()).append(job)
            self._let_in(whose)

    def _let_in(self, whose: object) -> None:
        """Move jobs of a key that wait aside (see `__init__`) into the key's queue, as many as are allowed."""
        if whose in self._resting:
            return
        beside = self._beside.get(whose)
        while beside and (whose is None or not self._most_at_once or self._at_once[whose] < self._most_at_once):
            self._at_once[whose] += 1
            if whose not in self._ready:
                self._open(whose)
            self._ready[whose].append(beside.popleft())
            if self._idle:
                self._idle.pop().release()
        if not beside:
            self._beside.pop(whose, None)

    def _open(self, whose: object) -> None:
        self._ready[whose] = deque()
        if self._had.get(whose, 0.0) <= self._share:
            self._had[whose] = self._share
            self._raised.add(whose)

    def get(self) -> tuple[object, T]:
        """Wait for the next job; return (key, job). Call `took`, or `charge` and `done`, when the job has ended."""
        while True:
            with self._lock:
                now = time.monotonic()
                for whose in [whose for whose, until in self._resting.items() if until <= now]:
                    del self._resting[whose]
                    self._let_in(whose)
                if self._ready:
                    return self._first()
                pause = min((until - now for until in self._resting.values()), default=-1.0)
                woken = threading.Lock()
                woken.acquire()
                self._idle.append(woken)
            if not woken.acquire(timeout=pause):
                with self._lock:
                    if woken in self._idle:
                        self._idle.remove(woken)

    def _first(self) -> tuple[object, T]:
        whose = self._next()
        line = self._ready.pop(whose)
        job = line.popleft()
        self._count -= 1
        if line:
            self._ready[whose] = line  # behind other keys with the same time
        self._share = max(self._share, self._had[whose])
        self._had[whose] += LEAST
        if len(self._had) > MOST_KEPT:
            self._forget()
        return whose, job

    def _next(self) -> object:
        return min(self._ready, key=self._had.__getitem__)

    def _forget(self) -> None:
        """Forget the used time of the keys that used the least, except keys with ready jobs.

        The MOST_KEPT // 2 keys that used the most are kept.
        """
        kept = sorted(self._had, key=self._had.__getitem__)[-MOST_KEPT // 2 :]
        self._had = {whose: self._had[whose] for whose in {*kept, *self._ready}}
        self._slow = {whose: until for whose, until in self._slow.items() if until > time.monotonic()}
        self._slow_last.intersection_update(self._slow)

    def took(self, whose: object, seconds: float) -> None:
        """Charge a finished job's seconds to its key, and note that the job is done."""
        self.charge(whose, seconds)
        self.done(whose)

    def charge(self, whose: object, seconds: float) -> None:
        """Charge a job's seconds to its key; the job may continue."""
        with self._lock:
            self._had[whose] = self._had.get(whose, self._share) + max(seconds - LEAST, 0.0)
            if whose in self._raised:  # otherwise the share would not grow while new keys keep coming
                self._raised.discard(whose)
                self._share += max(seconds, LEAST) / max(len(self._at_once), 1)
            self._note_slow(whose, seconds)

    def done(self, whose: object) -> None:
        """Note that a job of this key is done, so that the key's next job may enter the queue."""
        with self._lock:
            self._at_once[whose] -= 1
            self._let_in(whose)
            self._forget_idle(whose)

    def run(self, work: Callable[[], Result], whose: object) -> Result:
        """Run `work`, charge its processor time to this key, and return its result."""
        began = time.thread_time()
        try:
            return work()
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

    def withdraw(self, is_late: Callable[[T], bool]) -> list[T]:
        """Remove late jobs from the front of each key's queues, and return them. `is_late` says whether a job is late.

        A late job stays if a job before it in its queue is not late.
        """
        withdrawn: list[T] = []
        with self._lock:
            for whose in {*self._ready, *self._beside}:
                for lines in (self._ready, self._beside):
                    line = lines.get(whose)
                    while line and is_late(line[0]):
                        withdrawn.append(line.popleft())
                        self._at_once[whose] -= lines is self._ready
                    if line is not None and not line:
                        del lines[whose]
                self._let_in(whose)
                self._forget_idle(whose)
            self._count -= len(withdrawn)
        return withdrawn

    def _forget_idle(self, whose: object) -> None:
        if not self._at_once[whose]:
            del self._at_once[whose]
            self._raised.discard(whose)

    def get_quick(self) -> tuple[object, T] | None:
        """Return what `get` returns, without waiting. None if no job is ready, or if the last job of the next key was
        slow."""
        with self._lock:
            if not self._ready or (self._slow_last and self._next() in self._slow_last):
                return None
            return self._first()

    def empty(self) -> bool:
        """Return whether no job is ready."""
        return not self._ready

    def waiting(self, whose: object) -> int:
        """Return how many jobs of a key wait, ready or aside."""
        return len(self._ready.get(whose, ())) + len(self._beside.get(whose, ()))

    def all_waiting(self) -> int:
        return self._count

    def has_place(self, whose: object, most_waiting: int) -> bool:
        """Return whether one more job of a key may wait.

        At most `most_waiting` jobs may wait in all, and at most half as many of one key. The second bound does not
        apply to the key None.
        """
        return self._count < most_waiting and (whose is None or self.waiting(whose) * 2 < most_waiting)
