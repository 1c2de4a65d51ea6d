"""Takes Claude runs that wait, and works on each in a thread of its own; few at once."""

import os
import secrets
import threading

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memoryhub.actions.claude_runs import work
from memoryhub.background.claude_turns import Turns
from memoryhub.background.runner import Report
from memoryhub.database import connections

EVERY = 0.5
"""Seconds between two looks for runs that wait."""
AT_ONCE = 3
"""The most runs of the hub that are worked on at once."""
LONGEST_DELAY = 60.0


def start(stop: threading.Event, report: Report) -> list[threading.Thread]:
    """Start the thread that takes runs; it starts a thread for each."""
    thread = threading.Thread(target=Taker(report).run, args=(stop,), name="claude-runs", daemon=True)
    thread.start()
    return [thread]


class Taker:
    """Takes runs for this process."""

    def __init__(self, report: Report) -> None:
        self.report, self.worker = report, f"{os.getpid()}-{secrets.token_hex(8)}"
        self.threads: list[threading.Thread] = []

    def run(self, stop: threading.Event) -> None:
        """Take runs until `stop` is set; the threads that work on them then end, too.

        A hub on SQLite has one process that works on runs: what runs when it starts was left by one that was killed.
        """
        wait, is_first = EVERY, connection.vendor == "sqlite"
        while not stop.wait(wait):
            wait = EVERY
            try:
                self.look(stop, is_first=is_first)
                is_first = False
                self.report.succeeded()
            except Exception as error:
                wait = self.report.failed(error, LONGEST_DELAY)
            connections.let_go(failed=self.report.failures > 0)
        for thread in self.threads:
            thread.join(2)

    def look(self, stop: threading.Event, *, is_first: bool = False) -> None:
        """Mark interrupted runs, and take one that waits. Without a key, the run says what is missing."""
        now = timezone.now()
        work.interrupt_silent(now if is_first else now - work.SILENT, now)
        run_id = work.claim(self.worker, now, AT_ONCE)
        if run_id is None:
            return
        turns = Turns(run_id, self.worker, stop, settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)
        thread = threading.Thread(target=turns.work_in_thread, name=f"claude-run-{run_id[-6:]}", daemon=True)
        self.threads = [*(one for one in self.threads if one.is_alive()), thread]
        thread.start()
