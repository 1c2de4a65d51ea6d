"""Runs background work: each kind in its own thread, with its interval, its delay after a failure and its state.

Kinds of work that keep the processor busy take turns. If one of them hangs, the others wait at most WAIT seconds per
round. Work that fails is tried again after a growing delay.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import Error
from django.utils import timezone

from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import pace
from memoryhub.database import connections, pooled

logger = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 1.0, 600.0
"""Seconds until the next attempt after the first failure (each further failure doubles them), and the longest delay."""
NOTE_EVERY = 60.0
"""Seconds after the last save until a further success is saved."""
SOON = 0.2
"""Seconds until the next round if there is more to do: in this time, other work takes its turn."""
WAIT = 5.0

Clock = Callable[[], datetime]
Seconds = Callable[[], float]


def sentence(error: BaseException) -> str:
    """Return a sentence about an error, for an administrator."""
    if isinstance(error, JobFailed) and error.__cause__ is not None:
        return sentence(error.__cause__)
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'}: {error.strerror or error}."
    if isinstance(error, Error):
        return f"The database refused or did not answer: {pooled.reason_of(error)}".rstrip(".") + "."
    if isinstance(error, Explained):
        return str(error)
    return f"An error of the hub’s own ({type(error).__name__}); its log has the details."


def delay_after(failures: int) -> float:
    """Return the seconds until the next attempt after a number of failures in a row."""
    return min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 20))


class JobFailed(Exception):
    """One of several jobs failed; `__cause__` is the error.

    Each job has its own delay after a failure. So the next round comes soon, and the other jobs need not wait.
    """


class Explained(Exception):
    """A failure whose message is a sentence for an administrator."""


class Report:
    """Reports the outcome of one kind of work. Each failure is saved. A success is saved if it is the first after a
    failure, or NOTE_EVERY seconds after the last save."""

    def __init__(self, name: str, clock: Clock = timezone.now, seconds: Seconds = time.monotonic) -> None:
        self.name, self.clock, self.seconds = name, clock, seconds
        self.failures = 0
        self.noted: float | None = None
        self.last: BaseException | None = None

    def succeeded(self) -> None:
        if self.failures or self.noted is None or self.seconds() - self.noted >= NOTE_EVERY:
            self.failures, self.last = 0, None
            self._note(Outcome(self.name, self.clock()))

    def failed(self, error: BaseException, longest: float = LONGEST_DELAY) -> float:
        """Log and save the failure, unless `error` is the same object as last time. Return the seconds to wait: at most
        `longest`.

        After a JobFailed, the wait is at most FIRST_DELAY.
        """
        if isinstance(error, JobFailed):
            longest = FIRST_DELAY
        if error is self.last:
            return longest
        self.failures, self.last = self.failures + 1, error
        delay = min(longest, delay_after(self.failures))
        cause = error.__cause__ if isinstance(error, JobFailed) else error
        is_plain = isinstance(cause, Explained | OSError | Error)
        message = sentence(error)
        logger.error(
            "Background work failed (%s); trying again in %d seconds: %s",
            self.name,
            delay,
            message,
            exc_info=None if is_plain else cause,
        )
        now = self.clock()
        self._note(Outcome(self.name, now, message, self.failures, now + timedelta(seconds=delay)))
        return delay

    def _note(self, outcome: Outcome) -> None:
        try:
            background.note(outcome)
            self.noted = self.seconds()
        except Error:
            self.noted = None  # if the database itself fails, nothing can be saved: the next round tries again


@dataclass(slots=True)
class Task:
    """A kind of work. `work` does one round; its argument is the moment. It returns False if more work should follow
    soon.

    A task with `aside` does not take turns, because it may wait long for something other than the database.
    """

    name: str
    work: Callable[[datetime], bool | None]
    aside: bool = False
    due: float = field(default=float("-inf"))

    @property
    def every(self) -> float:
        return background.EVERY[self.name]


class Runner:
    """Runs several kinds of work, each when it is due."""

    def __init__(self, tasks: Sequence[Task], clock: Clock = timezone.now, seconds: Seconds = time.monotonic) -> None:
        self.tasks, self.clock, self.seconds = tasks, clock, seconds
        self.reports = {task.name: Report(task.name, clock, seconds) for task in tasks}
        self.turn = threading.Lock()

    def start(self, stop: threading.Event) -> list[threading.Thread]:
        """Start a thread for each kind of work; the threads end when `stop` is set."""
        threads = [
            threading.Thread(target=self._work_until, args=(task, stop), name=f"background-{task.name}", daemon=True)
            for task in self.tasks
        ]
        for thread in threads:
            thread.start()
        return threads

    def run_due(self) -> None:
        """Do all work that is due, in the calling thread."""
        for task in self.tasks:
            self.look(task)

    def look(self, task: Task) -> None:
        """Do one round of a kind of work if it is due, and save its outcome."""
        if self.seconds() < task.due:
            return
        report = self.reports[task.name]
        has_turn = not task.aside and self.turn.acquire(timeout=WAIT)
        try:
            with pace.giving_way():
                done = task.work(self.clock())
        except Exception as error:
            task.due = self.seconds() + report.failed(error)
        else:
            task.due = self.seconds() + (min(SOON, task.every) if done is False else task.every)
            report.succeeded()
        finally:
            if has_turn:
                self.turn.release()

    def _work_until(self, task: Task, stop: threading.Event) -> None:
        while not stop.wait(max(0.05, min(1.0, task.due - self.seconds()))):
            self.look(task)
            connections.let_go(failed=self.reports[task.name].failures > 0)
