"""Threads of the server that tell webhooks: one reads the audit and hands out what is due, the others send.

Each webhook is served by one thread at a time. Those that have been failing get half of the threads at most, so that
receivers that hang hold up neither each other's deliveries for long nor those of the healthy ones at all.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from django.db import connection
from django.utils import timezone

from memoryhub.actions.core import transactions
from memoryhub.actions.webhooks import deliveries, send
from memoryhub.outgoing import Answer, Sender
from memoryhub.task_runner import Report

logger = logging.getLogger(__name__)

EVERY = 0.5
"""Seconds between two looks at the audit, where nothing else wakes the thread that looks."""

PAUSE, SHARE, LONGEST = 0.02, 8, 2.0
"""After a step of reading while calls are answered, the thread rests for SHARE times as long as the step took (at least
PAUSE, at most LONGEST seconds), so that most of the server's time stays for them; else as long as the step took."""

LATE, HURRY = 8, 1
"""After so many steps that did not come to the end of what is new, more is done in each, and the rest after it is so
many times as long: the audit may not grow faster than it is read."""

BREATH = 0.01, 0.03
"""Seconds between two deliveries to one receiver, at least and at most: three times what the first took."""
BREATH_IN_A_HURRY = 0.002
"""Where a whole batch waits for that receiver."""

SENDERS = 8
FOR_FAILING = SENDERS // 2
IN_A_ROW = 200
"""So many deliveries of a webhook are sent before another may have the thread."""

TURN = 30.0
"""So many seconds a webhook has the thread before another may have it; a delivery that has begun comes to its end."""

LONGEST_DELAY = 60.0
"""Seconds to the next look after a failure, at most."""

SLOW = 2.0
"""A receiver that takes so many seconds for each delivery is held to the threads of those that fail."""


def start(stop: threading.Event, report: Report) -> list[threading.Thread]:
    """Starts the dispatcher's thread, which starts the senders' threads when a delivery is due."""
    dispatcher = Dispatcher(Sender(), timezone.now, report)
    thread = threading.Thread(target=dispatcher.run, args=(stop,), name="webhooks", daemon=True)
    thread.start()
    return [thread]


class _Quiet(Sender):
    """Holds no connection to PostgreSQL while it waits for a receiver."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, private: bool = False) -> Answer:
        _let_go()
        return super().post(url, body, headers, private=private)


class Dispatcher:
    """Who is being served, and by how many threads."""

    def __init__(self, sender: Sender, clock: Callable[[], datetime], report: Report | None = None) -> None:
        self.report = report or Report("webhooks")
        self.sender, self.clock = _Quiet(sender.resolve, sender.limits, sender.tls), clock
        self.steps = self.late = 0
        self.busy: dict[str, bool] = {}
        self.slow: set[str] = set()
        self.lock, self.wake = threading.Lock(), threading.Event()
        self.jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def run(self, stop: threading.Event) -> None:
        """Looks until `stop` is set."""
        done = True
        while not stop.is_set():
            self.wake.wait(EVERY if done else 0)
            self.wake.clear()
            begun = time.monotonic()
            try:
                done = self.turn()
                self.report.succeeded()
            except Exception as error:
                stop.wait(self.report.failed(error, LONGEST_DELAY))
            finally:
                _let_go()
            _rest(time.monotonic() - begun, HURRY if self.late >= LATE else SHARE)
        connection.close()

    def turn(self) -> bool:
        """Reads what is new, hands out what is due; whether all has been read."""
        at = self.clock()
        self.steps += 1
        done = deliveries.gather(at, most=1, turn=self.steps, hurry=self.late >= LATE)
        self.late = 0 if done else self.late + 1
        for webhook, failing in send.due(at):
            if self._take(webhook, failing):
                self.jobs.put(webhook)
                self._have_threads()
        return done

    def _take(self, webhook: str, failing: bool) -> bool:
        with self.lock:
            failing = failing or webhook in self.slow
            room = len(self.busy) < SENDERS and (not failing or sum(self.busy.values()) < FOR_FAILING)
            if webhook in self.busy or not room:
                return False
            self.busy[webhook] = failing
            return True

    def _have_threads(self) -> None:
        """As many as there are webhooks being served."""
        while len(self.threads) < len(self.busy):
            name = f"webhook-sender-{len(self.threads) + 1}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            webhook = self.jobs.get()
            try:
                self._send(webhook)
            except Exception:
                logger.exception("The webhook %s could not be served; trying again", webhook)
            finally:
                with self.lock:
                    del self.busy[webhook]
                _let_go()
            self.wake.set()

    def _send(self, webhook: str) -> None:
        """One turn of a webhook; a slow one's next is among those that fail."""
        begun = time.monotonic()
        tries = send.work(
            webhook,
            self.sender,
            self.clock,
            IN_A_ROW,
            rest=_breathe,
            may_go_on=lambda: time.monotonic() - begun < TURN,
        )
        is_slow = time.monotonic() - begun > SLOW * max(1, tries)
        with self.lock:
            (self.slow.add if is_slow else self.slow.discard)(webhook)


def _rest(seconds: float, share: int) -> None:
    """After work that took so long."""
    time.sleep(min(max(PAUSE, share * seconds) if transactions.is_busy() else seconds, LONGEST))


def _breathe(seconds: float, much_waits: bool) -> None:
    """Between two deliveries of which the first took so long; a slow receiver is slow by itself."""
    least, most = BREATH
    time.sleep(BREATH_IN_A_HURRY if much_waits else min(max(least, 3 * seconds), most))


def _let_go() -> None:
    """A thread that waits keeps no connection to PostgreSQL."""
    if connection.vendor != "sqlite":
        connection.close()
