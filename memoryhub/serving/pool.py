"""A fixed number of threads that run Django, and a bounded number of requests that wait for a thread."""

import logging
import threading
import time
from collections.abc import Callable

from memoryhub.actions.core.transactions.turns import Lines
from memoryhub.database.watch import LONGEST_WORK

logger = logging.getLogger(__name__)

WAITING_PER_THREAD = 16
LONGEST_WAIT = 20.0

Job = Callable[[bool], None]
"""A function that a thread runs. Its argument is True if the job waited too long; the job should then only refuse the
request."""


class Pool:
    """Runs jobs in its threads. Keys and people take turns; each may have at most half of the threads and of the
    waiting places.

    No job may wait for a client: a request is complete before its job is offered, and its answer is handed to the
    server whole.
    """

    def __init__(
        self,
        threads: int,
        *,
        most_waiting: int | None = None,
        longest_wait: float = LONGEST_WAIT,
        longest_work: float = LONGEST_WORK,
    ) -> None:
        self.threads, self.longest_wait, self.longest_work = threads, longest_wait, longest_work
        self.most_waiting = threads * WAITING_PER_THREAD if most_waiting is None else most_waiting
        self._jobs: Lines[tuple[float, Job]] = Lines(most_at_once=max(1, threads // 2))

    def start(self) -> None:
        for number in range(self.threads):
            threading.Thread(target=self._run, name=f"request-{number + 1}", daemon=True).start()

    def offer(self, job: Job, whose: object = None) -> bool:
        """Queue a job and return True. Return False if too many jobs wait already: in all, or of this key or person
        (`whose`)."""
        if not self._jobs.has_place(whose, self.most_waiting):
            return False
        self._jobs.put((time.monotonic(), job), whose)
        return True

    def refuse_late(self) -> None:
        """Refuse the jobs that have waited longer than `longest_wait`, even while all threads are busy."""
        before = time.monotonic() - self.longest_wait
        for _, job in self._jobs.withdraw(lambda waiting: waiting[0] < before):
            _do(job, too_late=True)

    def _run(self) -> None:
        while True:
            whose, (offered, job) = self._jobs.get()
            began = time.monotonic()
            _do(job, too_late=began - offered > self.longest_wait)
            self._jobs.took(whose, time.monotonic() - began)
            del job, whose  # otherwise the last request stays in memory until the next one


def _do(job: Job, *, too_late: bool) -> None:
    try:
        job(too_late)
    except Exception:  # an error must not end the thread
        logger.exception("A request failed outside Django")
