"""Stops a request that takes too much of the processor or of the memory, whatever it does.

Every operation has limits of its own, far below this one. The transaction of a stopped request is rolled back.
"""

import contextlib
import ctypes
import dis
import logging
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.database.connections import interrupt, replace

logger = logging.getLogger(__name__)

LONGEST_WORK = 20.0
"""Seconds of the processor after which a request is stopped. Pages and calls take a small part of a second; the largest
steps that they do at once, such as many approvals, some seconds."""
MOST_MEMORY = 1536 * 1024 * 1024
"""Bytes by which the process may grow while a request runs. If it grows more, the request that took most of these bytes
is stopped."""
LEAST_SHARE = 1 / 8
"""The share of MOST_MEMORY that a request must have taken itself to be stopped; other requests may have taken the other
bytes."""
LONGEST_WAIT = 3
"""On PostgreSQL, how many times its limit a request may take in all, including the time in which it waits for the
database.

SQLite works in the request's own thread: there a request waits only for other requests, which have limits, and for a
disk.
"""
LOOK_EVERY = 0.25
AGAIN_AFTER = 5.0
"""Seconds after which a request that was stopped but still runs is stopped once more."""

LOCKING = frozenset({"acquire", "release"})
NEAR = LOCKING | {"__enter__", "__exit__"}
ANYWHERE = frozenset({"connect", "get_new_connection", "getconn", "putconn", "_close"})
"""The names of functions that take or release a lock (LOCKING, NEAR), or a connection of PostgreSQL's pool (ANYWHERE).
A request that was stopped in such a function, or where Python has just called it, could keep for ever a lock that every
other request needs."""
NEAREST = 4
"""Within how many calls of the current step the names in NEAR are looked for. Further out, a function with such a name
is something else, such as a view."""

_clock_of = getattr(time, "pthread_getcpuclockid", None)  # macOS has none: there, waiting counts too
_THIS_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
_thread = threading.local()

T = TypeVar("T")


class TookTooMuch(BaseException):
    """The request was stopped. It is no `Exception`, so that code which turns exceptions into answers does not catch
    it."""

    has_committed = False
    """Whether the request had committed something before."""


class _Running:
    """One request that runs in this thread."""

    def __init__(self, limit: float, size: int) -> None:
        self.thread, self.task, self.limit, self.size = threading.get_ident(), threading.get_native_id(), limit, size
        self.connection: BaseDatabaseWrapper = connections["default"]
        self.clock: int | None = None if _clock_of is None else _clock_of(self.thread)
        self.before, self.waited = self._processor(), 0.0
        self.faults, self.taken = resource.getrusage(_THIS_THREAD).ru_minflt, 0.0
        self.next_stop, self.was_stopped = 0.0, False
        self.lock = threading.RLock()
        """Held while the request is being stopped, so that the request ends, or begins to commit, only before or after
        that."""
        self.has_ended, self.protected, self.has_committed = False, 0, False

    def _processor(self) -> float:
        return time.monotonic() if self.clock is None else time.clock_gettime(self.clock)

    def worked(self) -> float:
        return self._processor() - self.before

    def waits_too_long(self) -> bool:
        return self.connection.vendor != "sqlite" and self.waited > self.limit * LONGEST_WAIT

    def end(self) -> None:
        """Record that the request has ended. From now on, the request is not stopped any more."""
        while True:
            try:
                with self.lock:
                    self.has_ended = True
                    _raise_in(self.thread, None)
            except TookTooMuch:
                continue
            return

    def protect(self) -> None:
        """Keep the request from being stopped until the caller lowers `protected` again. Raises TookTooMuch if the
        request was already stopped."""
        with self.lock:
            if not self.was_stopped:
                self.protected += 1
                return
            _raise_in(self.thread, None)
        raise TookTooMuch

    def note_commit(self) -> None:
        """After the first commit, give the request its whole limit once more, so that it can still answer."""
        if not self.has_committed:
            self.has_committed, self.before, self.waited = True, self._processor(), 0.0

    # ------------------------------------------------------------------------------------------ in the watch's thread

    def unless_it_ends(self, do: Callable[[], None]) -> None:
        """Call `do` if the request still runs and is not about to end or to commit. During the call, the request
        neither ends nor commits."""
        if self.lock.acquire(blocking=False):
            try:
                if not self.has_ended:
                    do()
            finally:
                self.lock.release()

    def look(self, bytes_per_fault: float) -> None:
        """Add LOOK_EVERY to `waited`. Estimate how many bytes of new memory the request has taken since the last
        check, and add them to `taken`."""
        self.waited += LOOK_EVERY  # not the time in which the whole process was paused
        faults = _faults_of(self.task)
        self.taken += (faults - self.faults) * bytes_per_fault
        self.faults = faults

    def stop(self, now: float, *, for_memory: bool) -> None:
        """Stop the request if it takes too much time, or if `for_memory` says that it takes too much memory.

        A protected request is not stopped. If it waits too long, only its current statement is ended.
        """
        waits = self.waits_too_long()
        is_too_much = waits if self.protected else for_memory or waits or self.worked() > self.limit
        if not is_too_much or now < self.next_stop or (not self.protected and _is_at_a_lock(self.thread)):
            return
        self.next_stop = now + AGAIN_AFTER
        if not self.protected:
            self.was_stopped = True
            _raise_in(self.thread, TookTooMuch)
            if _is_at_a_lock(self.thread):  # it went on just before
                _raise_in(self.thread, None)
                return
        interrupt(self.connection)


class Watch:
    """Looks after the requests of all threads, in a thread of its own."""

    def __init__(self, tidy_up: Callable[[], None] = lambda: None) -> None:
        """After a request was stopped, at whatever step, its thread calls `tidy_up` to undo what the request left."""
        self._tidy_up = tidy_up
        self._running: dict[int, _Running] = {}
        self._size = self._faults = 0
        self._looks: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch the requests. Do nothing if this process already watches them."""
        if self._looks is None or not self._looks.is_alive():
            self._size, self._faults = _size_of_process(), _faults_of_process()
            self._looks = threading.Thread(target=self._look_forever, name="watch", daemon=True)
            self._looks.start()

    def run(self, work: Callable[[], T], limit: float) -> T:
        """Run `work` in this thread, and return its result.

        Raises TookTooMuch, at whatever step the work is, if the work takes more than `limit` seconds of the processor;
        if the process grows by more than MOST_MEMORY bytes, of which this work took the most; or, on PostgreSQL, if
        the work and its waits take more than LONGEST_WAIT times `limit` seconds. Both times begin again after the
        first commit of the work.
        """
        running = _thread.running = self._running[threading.get_ident()] = _Running(limit, self._size)
        try:
            try:
                return work()
            finally:
                running.end()
        except (Exception, TookTooMuch) as error:
            running.end()  # again, if the stop came just before
            if not running.was_stopped:
                raise
            _close_what_is_open(error)
            stopped = TookTooMuch()
            stopped.has_committed = running.has_committed
            raise stopped from error
        finally:
            self._running.pop(running.thread, None)
            _thread.running = None
            if running.was_stopped:
                replace(running.connection)
                self._tidy_up()

    def _look_forever(self) -> None:
        while True:
            time.sleep(LOOK_EVERY)
            try:
                self._look(time.monotonic())
            except Exception:  # for example no memory
                logger.exception("A look at the running requests failed")

    def _look(self, now: float) -> None:
        size, faults = _size_of_process(), _faults_of_process()
        bytes_per_fault = max(0, size - self._size) / max(1, faults - self._faults)
        self._size, self._faults = size, faults
        running = list(self._running.values())
        for one in running:
            one.unless_it_ends(partial(one.look, bytes_per_fault))
        large = [one for one in running if size - one.size > MOST_MEMORY and one.taken > MOST_MEMORY * LEAST_SHARE]
        largest = max(large, key=lambda one: one.taken, default=None)
        for one in running:
            one.unless_it_ends(partial(one.stop, now, for_memory=one is largest))


@contextlib.contextmanager
def unstopped() -> Iterator[_Running | None]:
    """Protect what must not be stopped half way. The request is stopped only before or after the `with` block."""
    running: _Running | None = getattr(_thread, "running", None)
    if running is None:
        yield None
        return
    running.protect()
    try:
        yield running
    finally:
        running.protected -= 1


@contextlib.contextmanager
def committing() -> Iterator[None]:
    """Protect the `with` block, in which a request commits: the request is not stopped in the block.

    After its first commit, the request gets its whole limit once more, so that it can still answer.
    """
    with unstopped() as running:
        yield
        if running is not None:
            running.note_commit()


def allow(seconds: float) -> None:
    """Let the request of this thread take at least `seconds`, because its bounded work needs this time."""
    running: _Running | None = getattr(_thread, "running", None)
    if running is not None:
        running.limit = max(running.limit, seconds)


def _size_of_process() -> int:
    """Return the bytes of memory that this process has; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _faults_of_process() -> int:
    """Return how often this process touched a page of memory that it had not touched before."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _faults_of(task: int) -> int:
    """Return how often one thread of this process touched a page of memory that the process had not touched before; 0
    where the system does not report it."""
    try:
        return int(Path(f"/proc/self/task/{task}/stat").read_text().rpartition(")")[2].split()[7])
    except OSError:
        return 0


def _is_at_a_lock(thread: int) -> bool:
    """Return whether a thread may be taking or releasing a lock at this moment.

    If the thread was stopped at this moment, the lock could stay locked for ever.
    """
    frame = sys._current_frames().get(thread)
    if frame is None or not LOCKING.isdisjoint(frame.f_code.co_names) or _enters_a_block(frame):
        return True
    depth = 0
    while frame is not None:
        names = NEAR | ANYWHERE if depth < NEAREST else ANYWHERE
        # a generator that is stopped by itself lets go of what it holds: see _close_what_is_open
        if frame.f_code.co_name in names and frame.f_code.co_filename != contextlib.__file__:
            return True
        frame, depth = frame.f_back, depth + 1
    return False


def _enters_a_block(frame: FrameType) -> bool:
    """Return whether the current step is the call with which a `with` block begins.

    Since Python 3.14, a thread can be stopped at this step, before the block.
    """
    # Since Python 3.14, a thread can be stopped at this step, before the block.
    step = frame.f_code.co_code[max(0, frame.f_lasti - 2)]
    return dis.opname[step] == "LOAD_SPECIAL"


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in another thread, at its next step in Python. None cancels an exception that was not raised
    yet."""
    asynchronous = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), asynchronous)


def _close_what_is_open(error: BaseException | None) -> None:
    """Close the generators of those `with` blocks that were stopped while they were being opened or closed."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
