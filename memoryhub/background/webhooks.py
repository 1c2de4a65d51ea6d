"""Sends events to webhooks. One thread reads the audit and hands out webhooks; the other threads send.

A webhook is served by one thread at a time. Failing webhooks get at most half of the threads.
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
from memoryhub.actions.webhooks import gather, send
from memoryhub.background.runner import Report
from memoryhub.pure.outgoing import Answer, Sender

logger = logging.getLogger(__name__)

EVERY = 0.5
"""Seconds between two readings of the audit, unless something wakes the reading thread."""

PAUSE, SHARE, LONGEST = 0.02, 8, 2.0
"""How long the reading thread pauses after each step: as long as the step took.

While calls are answered, it pauses SHARE times as long, at least PAUSE and at most LONGEST seconds; so calls get most
of the server's time.
"""

LATE, HURRY = 8, 1
"""After LATE steps in a row that did not reach the audit's end, each step reads more entries, and the pause is only
HURRY times as long as the step. Otherwise the audit could grow faster than it is read."""

BREATH = 0.01, 0.03
"""The least and the most seconds between two deliveries to one receiver. Within these bounds, the pause is three times
as long as the first of the two took."""
BREATH_IN_A_HURRY = 0.002
"""Seconds between two deliveries to one receiver while a whole batch waits for it."""

SENDERS = 8
FOR_FAILING = SENDERS // 2
IN_A_ROW = 200
"""How many deliveries of a webhook are sent before another webhook may have the thread."""

TURN = 30.0
"""Seconds after which a webhook begins no further delivery, so that another webhook may have the thread."""

LONGEST_DELAY = 60.0
"""The longest delay after a failure, in seconds."""

SLOW = 2.0
"""A receiver that takes this many seconds for each delivery is served only by the threads for failing webhooks."""


def start(stop: threading.Event, report: Report) -> list[threading.Thread]:
    """Start the dispatcher's thread, which starts the senders' threads when a delivery is due."""
    dispatcher = Dispatcher(Sender(), timezone.now, report)
    thread = threading.Thread(target=dispatcher.run, args=(stop,), name="webhooks", daemon=True)
    thread.start()
    return [thread]


class _Quiet(Sender):
    """A sender that closes the thread's connection to PostgreSQL before it waits for a receiver."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, private: bool = False) -> Answer:
        _let_go()
        return super().post(url, body, headers, private=private)


class Dispatcher:
    """Hands webhooks to threads, and knows which webhooks are being served."""

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
        """Read the audit and hand out deliveries until `stop` is set."""
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
        """Read new entries, and hand webhooks with a due delivery to threads. Return whether all entries have been
        read."""
        at = self.clock()
        self.steps += 1
        done = gather.gather(at, most=1, turn=self.steps, hurry=self.late >= LATE)
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
        """Start threads until there are as many threads as webhooks that are to be served."""
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
        """Send the deliveries of a webhook that are due, but begin none after TURN seconds.

        If they took more than SLOW seconds on average, the webhook is treated like a failing one the next time.
        """
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
    """Pause for as long as the last step took (`seconds`). While calls are answered, pause `share` times as long.

    The pause is at most LONGEST seconds and, while calls are answered, at least PAUSE seconds.
    """
    time.sleep(min(max(PAUSE, share * seconds) if transactions.is_busy() else seconds, LONGEST))


def _breathe(seconds: float, much_waits: bool) -> None:
    """Pause after a delivery that took `seconds`, before the next delivery to the same receiver. The pause is shorter
    if `much_waits`."""
    least, most = BREATH
    time.sleep(BREATH_IN_A_HURRY if much_waits else min(max(least, 3 * seconds), most))


def _let_go() -> None:
    """Close this thread's connection to PostgreSQL while the thread waits."""
    if connection.vendor != "sqlite":
        connection.close()
