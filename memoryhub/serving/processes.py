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
"""Seconds that a worker process has to end by itself. After that, it is killed."""


class Server(MPServer):
    """granian's server, but after the first STARTED_AFTER seconds it restarts every worker that dies.

    granian itself stops if a worker dies soon after a restart. In the first seconds, this server does the same, so that
    a hub that cannot start says why and ends.
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
        # On a machine short of memory, the system can kill a worker twice, and the hub must go on.
        self._pause = min(max(1.0, self._pause * 2), LONGEST_PAUSE)
        super()._respawn_workers(workers, *args, **options)
        if now - self._begun > STARTED_AFTER:
            self.respawned_wrks.clear()


def end_with_parent() -> None:
    """End this worker when its parent process is gone, for example after kill -9.

    Otherwise the worker would hold the port and the data directory, and `serve` could not start.
    """
    if (parent := multiprocessing.parent_process()) is not None and parent.pid is not None:
        threading.Thread(target=_end_after, args=(parent.pid,), name="parent", daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(KILLED_AFTER)
    os.kill(os.getpid(), signal.SIGKILL)
