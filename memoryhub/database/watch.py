"""Stops a request that takes too much of the processor or of the memory, whatever it does.

Every operation has limits of its own, far below this one. This is for the request that nobody thought of: its
transaction is rolled back, it is refused, and its thread serves others.
"""

import ctypes
import resource
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.database.connections import interrupt, replace

LONGEST_WORK = 20.0
"""Seconds of the processor after which a request is stopped. Pages and calls take a small part of a second; the largest
steps that they do at once, such as many approvals, some seconds."""
MOST_MEMORY = 1536 * 1024 * 1024
"""Bytes by which the process may grow while a request runs. Beyond, the request that has worked most is stopped."""
LONGEST_WAIT = 3
"""How many times its limit a request may take in all, with what it waits for PostgreSQL. SQLite works in the request's
own thread. There a request waits only for others, which have limits, and for a disk."""
LOOK_EVERY = 0.25
AGAIN_AFTER = 5.0
"""Seconds after which a request is stopped once more, if it goes on all the same."""

_clock_of = getattr(time, "pthread_getcpuclockid", None)  # macOS has none: there, waiting counts too


class TookTooMuch(BaseException):
    """The request was stopped. It is no `Exception`, so that code which turns exceptions into answers does not catch
    it."""


class _Running:
    """One request that runs in this thread."""

    __slots__ = ("before", "clock", "connection", "limit", "next_stop", "size", "thread", "waited", "was_stopped")

    def __init__(self, limit: float, size: int) -> None:
        self.thread, self.limit, self.size = threading.get_ident(), limit, size
        self.connection: BaseDatabaseWrapper = connections["default"]
        self.clock: int | None = None if _clock_of is None else _clock_of(self.thread)
        self.before, self.waited = self._processor(), 0.0
        self.next_stop, self.was_stopped = time.monotonic(), False

    def _processor(self) -> float:
        return time.monotonic() if self.clock is None else time.clock_gettime(self.clock)

    def worked(self) -> float:
        return self._processor() - self.before

    def is_too_long(self) -> bool:
        return self.worked() > self.limit or (
            self.connection.vendor != "sqlite" and self.waited > self.limit * LONGEST_WAIT
        )

    def stop(self, now: float) -> None:
        self.was_stopped, self.next_stop = True, now + AGAIN_AFTER
        _raise_in(self.thread, TookTooMuch)
        interrupt(self.connection)


class Watch:
    """Looks after the requests of all threads, in a thread of its own."""

    def __init__(self, tidy_up: Callable[[], None] = lambda: None) -> None:
        """Set what a thread does after its request was stopped, at whichever step, to undo what the request left."""
        self._tidy_up = tidy_up
        self._running: dict[int, _Running] = {}
        self._size = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        self._size = _size_of_process()
        threading.Thread(target=self._look_forever, name="watch", daemon=True).start()

    def run(self, work: Callable[[], object], limit: float) -> None:
        """Run work in this thread. Raises TookTooMuch, out of any place of the work, if it takes more than `limit`
        seconds of the processor, three times as long in all on PostgreSQL, or more than MOST_MEMORY bytes.

        A statement that the database runs for it is interrupted. The thread gets a new connection, since nobody knows
        in which state the old one is.
        """
        running = _Running(limit, self._size)
        with self._lock:
            self._running[running.thread] = running
        try:
            try:
                work()
            finally:
                self._end(running)
        except (Exception, TookTooMuch) as error:
            self._end(running)  # again, if the stop came just before
            if not running.was_stopped:
                raise
            _close_what_is_open(error)
            raise TookTooMuch from error
        finally:
            if running.was_stopped:
                replace(running.connection)
                self._tidy_up()

    def _end(self, running: _Running) -> None:
        """Once this has returned, the request is not stopped any more."""
        while True:
            try:
                with self._lock:
                    self._running.pop(running.thread, None)
                    _raise_in(running.thread, None)
            except TookTooMuch:
                continue
            return

    def _look_forever(self) -> None:
        while True:
            time.sleep(LOOK_EVERY)
            self._size = _size_of_process()
            with self._lock:
                self._look(time.monotonic())

    def _look(self, now: float) -> None:
        for one in self._running.values():
            one.waited += LOOK_EVERY  # not the time in which the whole process was paused
        running = [one for one in self._running.values() if now >= one.next_stop]
        large = [one for one in running if self._size - one.size > MOST_MEMORY]
        for one in running:
            if one.is_too_long() or (large and one is max(large, key=_Running.worked)):
                one.stop(now)


def _size_of_process() -> int:
    """Return the bytes of memory that this process has; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in another thread, at its next step in Python; None takes back one that was not raised yet."""
    asynchronous = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), asynchronous)


def _close_what_is_open(error: BaseException | None) -> None:
    """Let go of the blocks of `with` that were stopped while they were being opened or closed: their generators end."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
