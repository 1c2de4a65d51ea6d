"""Takes Claude runs and evaluations that wait, and works on each in a thread of its own: at most AT_ONCE runs."""

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from memoryhub.actions.claude_runs import configuration, evaluations, work
from memoryhub.background.claude_runs import evaluating
from memoryhub.background.claude_runs.answers import Api, Failed
from memoryhub.background.claude_runs.turns import Turns
from memoryhub.background.runner import Report
from memoryhub.database import connections
from memoryhub.models import ClaudeModel
from memoryhub.pure.conversation.options import SUMMARIZE

FIRST_MODELS = 5.0
"""Seconds after the start of a process until the API is asked which models it has, so that a start does not import the
SDK."""
MODELS_EVERY, MODELS_AGAIN = 6 * 3600.0, 600.0
"""Seconds until the API is asked again which models it has: after an answer, and without one."""
EVERY = 0.5
"""Seconds between two checks for runs that wait."""
WITHOUT_KEY = 5.0
"""Seconds between two checks on a hub without a key. No run can start there, so only interrupted runs are looked
for."""
AT_ONCE = 3
"""The most runs of the hub that are worked on at once."""
LONGEST_DELAY = 60.0


def start(stop: threading.Event, report: Report) -> list[threading.Thread]:
    """Start the thread that takes waiting runs; it starts another thread for each run."""
    thread = threading.Thread(target=Taker(report).run, args=(stop,), name="claude-runs", daemon=True)
    thread.start()
    return [thread]


def offered(found: list[dict[str, Any]]) -> list[ClaudeModel]:
    """Return the models in the API's list `found`, except those that are retired."""
    return [_model(one) for one in found if one.get("lifecycle", "active") != "retired"]


def _model(one: dict[str, Any]) -> ClaudeModel:
    can = one.get("capabilities") or {}
    editing = can.get("context_management")
    edits: Any = None if editing is None else sorted(name for name, told in editing.items() if _is_supported(told))
    if edits is not None and _is_supported(can.get(SUMMARIZE)):
        edits.append(SUMMARIZE)
    thinks = None if can.get("thinking") is None else _is_supported(can["thinking"])
    return ClaudeModel(
        id=one["id"],
        name=one.get("display_name") or one["id"],
        max_tokens=one.get("max_tokens"),
        edits=edits,
        thinks=thinks,
    )


def _is_supported(told: Any) -> bool:
    return isinstance(told, dict) and told.get("supported") is True


class Models:
    """Asks the API at intervals which models it offers, in a thread of its own."""

    def __init__(self, key: str, address: str) -> None:
        self.key, self.address = key, address
        self.due = time.monotonic() + FIRST_MODELS
        self.thread: threading.Thread | None = None

    def look(self) -> None:
        """Start a request for the list of models, if one is due and none is running."""
        is_asking = self.thread is not None and self.thread.is_alive()
        if self.key and not is_asking and time.monotonic() >= self.due:
            self.due = time.monotonic() + MODELS_EVERY
            self.thread = threading.Thread(target=self.ask, name="claude-models", daemon=True)
            self.thread.start()

    def ask(self) -> None:
        """Ask the API, and store the list. If the API does not answer, the hub keeps the list that it has."""
        try:
            found = Api(self.key, self.address, 1).models()
            if found:
                configuration.set_models(offered(found))
        except (Failed, Error):
            self.due = time.monotonic() + MODELS_AGAIN
        finally:
            if not connection.in_atomic_block:
                connection.close()


class Silence:
    """Finds the runs or evaluations whose workers have ended: for work.SILENT, they were not seen again.

    This time is measured by this process. The clocks of two nodes may differ, and a clock may be set.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.since: dict[work.Seen, float] = {}

    def among(self, running: Iterable[work.Seen]) -> list[work.Seen]:
        """Return those of the running ones whose workers have ended."""
        now = self.seconds()
        self.since = {one: self.since.get(one, now) for one in running}
        return [one for one, since in self.since.items() if now - since >= work.SILENT.total_seconds()]


class Taker:
    """Takes runs for this process."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.threads: list[threading.Thread] = []
        self.evaluation: threading.Thread | None = None
        self.models = Models(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)
        self.silent_runs, self.silent_evaluations = Silence(), Silence()

    def run(self, stop: threading.Event) -> None:
        """Take runs until `stop` is set; the threads that work on the runs then end, too."""
        # On SQLite only one process works on runs: what runs before this process has taken any was killed.
        wait, is_first = EVERY, connection.vendor == "sqlite"
        while not stop.wait(wait):
            wait = EVERY if settings.ANTHROPIC_API_KEY else WITHOUT_KEY
            try:
                self.look(stop, is_first=is_first)
                is_first = False
                self.report.succeeded()
            except Exception as error:
                wait = self.report.failed(error, LONGEST_DELAY)
            connections.let_go(failed=self.report.failures > 0)
        for thread in [*self.threads, *([self.evaluation] if self.evaluation else [])]:
            thread.join(2)

    def look(self, stop: threading.Event, *, is_first: bool = False) -> None:
        """Mark interrupted runs, and take one run and one evaluation that wait.

        A run is interrupted if its worker has been silent for SILENT. With `is_first`, every running run is
        interrupted.
        """
        now = timezone.now()
        self.models.look()
        running = work.running()
        for run_id, seen_at in running if is_first else self.silent_runs.among(running):
            work.interrupt(run_id, seen_at, now)
        # Each time another: a thread that has lost its run must not take the run's next thread for itself.
        worker = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._evaluate(stop, worker)
        taken = work.claim(worker, now, AT_ONCE)
        if taken is None:
            return
        turns = Turns(taken, worker, stop, settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)
        thread = threading.Thread(target=turns.work_in_thread, name=f"claude-run-{taken[-6:]}", daemon=True)
        self.threads = [*(one for one in self.threads if one.is_alive()), thread]
        thread.start()

    def _evaluate(self, stop: threading.Event, worker: str) -> None:
        """Take an evaluation that waits, unless this process already works on an evaluation."""
        now = timezone.now()
        for evaluation_id, seen_at in self.silent_evaluations.among(evaluations.running()):
            evaluations.interrupt(evaluation_id, seen_at, now)
        if self.evaluation is not None and self.evaluation.is_alive():
            return
        one = evaluations.claim(worker, now)
        if one is not None:
            work_on = partial(evaluating.work_in_thread, one, worker, stop)
            self.evaluation = threading.Thread(target=work_on, name="claude-evaluation", daemon=True)
            self.evaluation.start()
