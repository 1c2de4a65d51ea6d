"""Filters of the log: one line a minute for repeated database errors, and one line for each refused request."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import Error

from memoryhub.actions.core.hub.disk_space import DiskFull

EVERY = 60.0


class OncePerMinute(logging.Filter):
    """Shortens records about database errors, and about answers with 503, to one line. One record of each kind passes
    in a minute.

    Further records of this kind in the minute are only counted. The next line of the kind has their number. Records
    about anything else pass unchanged.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.seconds = seconds
        self.lock = threading.Lock()
        self.seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if is_of_the_database(error):
            message = str(error).strip().split("\n")[0]
        elif error is None and getattr(record, "status_code", None) == 503:
            message = "503"  # Django logs every such answer
        else:
            return True
        with self.lock:
            since, more = self.seen.get((record.name, message), (float("-inf"), 0))
            if self.seconds() - since < EVERY:
                self.seen[record.name, message] = since, more + 1
                return False
            if len(self.seen) > 1_000:
                self.seen.clear()
            self.seen[record.name, message] = self.seconds(), 0
        counted = f" ({more} more like this since the last line)" if more else ""
        record.msg, record.args = f"{record.getMessage()}: {message}{counted}", ()
        record.exc_info = record.exc_text = None
        return True


class RefusalsInOneLine(logging.Filter):
    """Removes the traceback from records about answers below 500: a refused request is no failure of the hub."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True


def is_of_the_database(error: BaseException | None) -> bool:
    """Return whether an error is a database error (of Django or a driver) or a full disk."""
    return isinstance(error, Error | DiskFull) or type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg")
