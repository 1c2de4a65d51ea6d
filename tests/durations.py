"""How long the hub itself works at something, whatever else the machine does."""

from collections.abc import Callable
from time import process_time

TRIES = 3


def quickest(work: Callable[[], object]) -> float:
    """Seconds of this process's CPU, the fewest of three tries: what else a machine does only ever adds to them."""
    seconds = []
    for _ in range(TRIES):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return min(seconds)
