"""Coroutines in tests: Playwright keeps an event loop in the thread of the tests, where asyncio.run would refuse."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine gives, run in a thread of its own: what it asks the database for is not the test's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@contextmanager
def one_loop() -> Iterator[Callable[[Any], Any]]:
    """Gives a function that does as `run`, each time in the same event loop."""
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()
        yield lambda coroutine: thread.submit(runner.run, coroutine).result()
        thread.submit(runner.close).result()
