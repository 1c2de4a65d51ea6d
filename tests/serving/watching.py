"""Requests under a watch: they run in a thread of their own, and are stopped after a while or at just one step."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connections

from memoryhub.database.watch import TookTooMuch, Watch, _Running


def in_thread(work: Callable[[], object]) -> None:
    """Do work as a thread of the pool does; raise its error here."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result(60)


def stopped(watched: Watch, work: Callable[[], object], limit: float = 0.2) -> None:
    with pytest.raises(TookTooMuch):
        watched.run(work, limit)


def stop_now(running: _Running) -> None:
    """As if it took too much at just this step."""
    running.limit = 0
    running.unless_it_ends(partial(running.stop, time.monotonic(), for_memory=False))


def for_ever() -> None:
    while True:
        pass


def busy(until: float) -> None:
    while time.thread_time() < until:
        pass
