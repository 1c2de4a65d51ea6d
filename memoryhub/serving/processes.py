"""The worker processes of `serve`. A worker that dies is started again, and no worker outlives the server."""

import multiprocessing
import os
import signal
import threading
import time
from typing import Any

from granian.server.mp import MPServer

STARTED_AFTER = 10.0
LONGEST_PAUSE = 10.0
YOUNG = 60.0
LOOK_EVERY = 1.0
KILLED_AFTER = 20
"""Seconds that a worker process has to end by itself."""


class Server(MPServer):
    """granian's server, but with workers that are always restarted. granian itself stops if a worker dies within 5.5
    seconds of a restart.

    On a machine short of memory, the system can kill a worker twice; the hub would then stop and not start again. So
    workers are restarted for as long as the server runs, after a pause that grows while workers die young. In the first
    STARTED_AFTER seconds granian's rule applies: a hub that cannot start says why and ends.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._begun = time.monotonic()
        self._pause = 0.0

    def _respawn_workers(self, workers: Any, *args: Any, **options: Any) -> None:
        now = time.monotonic()
        if all(now - self.wrks[number].birth > YOUNG for number in workers):
            self._pause = 0.0
        self.main_loop_interrupt.wait(self._pause)  # a signal ends the wait
        if self.interrupt_signal:
            return
        self._pause = min(max(1.0, self._pause * 2), LONGEST_PAUSE)
        super()._respawn_workers(workers, *args, **options)
        if now - self._begun > STARTED_AFTER:
            self.respawned_wrks.clear()


def end_with_parent() -> None:
    """End this worker, as if it were stopped, when its parent process is gone, for example after kill -9.

    A worker without a parent would hold the port and the data directory. Then `serve` could not start, and no one would
    restart the worker.
    """
    if (parent := multiprocessing.parent_process()) is not None and parent.pid is not None:
        threading.Thread(target=_end_after, args=(parent.pid,), name="parent", daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(KILLED_AFTER)
    os.kill(os.getpid(), signal.SIGKILL)
