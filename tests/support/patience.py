"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Ask again and again until something is so; fail when it is not within some seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{getattr(holds, '__name__', holds)} did not become true in {seconds:g} s"
        time.sleep(0.02)
