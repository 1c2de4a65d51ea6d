"""The worker processes of `serve`: one that dies is started again, however often that happens."""

import time
from typing import Any

from granian.server.mp import MPServer

STARTED_AFTER = 10.0
LONGEST_PAUSE = 10.0
YOUNG = 60.0


class Server(MPServer):
    """granian's, which ends where a worker dies within 5.5 seconds of having been started again.

    A machine that ran out of memory kills a worker twice, and the hub would be gone for good. So a worker is started
    again for as long as the server runs, after a pause that grows while workers die young. In the first STARTED_AFTER
    seconds granian's rule stays: a hub that cannot start says so and ends.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._begun = time.monotonic()
        self._pause = 0.0

    def _respawn_workers(self, workers: Any, *args: Any, **options: Any) -> None:
        now = time.monotonic()
        if all(now - self.wrks[number].birth > YOUNG for number in workers):
            self._pause = 0.0
        self.main_loop_interrupt.wait(self._pause)  # which a signal ends
        if self.interrupt_signal:
            return
        self._pause = min(max(1.0, self._pause * 2), LONGEST_PAUSE)
        super()._respawn_workers(workers, *args, **options)
        if now - self._begun > STARTED_AFTER:
            self.respawned_wrks.clear()
