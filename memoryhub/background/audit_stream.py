"""Writes every audit entry to the audit stream at least once. Entries of a chain keep their order."""

import json
import os
import time
from datetime import datetime

from django.conf import settings

from memoryhub.actions.core.hub.background import NODE
from memoryhub.actions.transfer import streaming
from memoryhub.background import stream_targets

ROUND = 2.0
"""Seconds after which a round ends, so that its outcome is saved."""
REST = 0.2
"""The pause after each batch, as a share of the time that the batch took. In the pause, calls are answered."""


class AuditStream:
    """The stream of this process. Of all processes of a hub, one writes at a time."""

    def __init__(self) -> None:
        self.target = stream_targets.of(settings.MEMORYHUB_AUDIT_STREAM)
        self.holder = f"{NODE} {os.getpid()}"
        self.last = ""

    def go_on(self, now: datetime) -> bool:
        """Write new entries. Begin with the chain whose id comes after that of the chain that was written last.

        Return False if there are more new entries to write.
        """
        behind = sorted(streaming.behind(), key=lambda one: one[0] <= self.last)
        if self.target is None or not behind or not streaming.claim(self.holder, now):
            return True
        end = time.monotonic() + ROUND
        for chain, after in behind:
            begun = time.monotonic()
            batch = streaming.next_batch(chain, after)
            self.target.write([json.dumps(event) for event in batch.events])
            streaming.note_written(chain, batch.last)
            self.last = chain
            time.sleep(REST * (time.monotonic() - begun))
            if time.monotonic() > end:
                break
        return not streaming.behind()
