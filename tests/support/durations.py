"""How long the hub itself works at something, whatever else the machine does."""

from collections.abc import Callable
from time import process_time

TRIES = 3


def quickest(work: Callable[[], object]) -> float:
    """Seconds of this process's CPU, the fewest of three tries: what else a machine does only ever adds to them."""
    return min(_seconds(work) for _ in range(TRIES))


def is_within(seconds: float, work: Callable[[], object]) -> bool:
    """Whether one of three tries takes less than so many seconds of this process's CPU."""
    return any(_seconds(work) < seconds for _ in range(TRIES))


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
