"""What a database keeps of overwritten rows outside its tables, and how it is taken away."""

import logging
import time
from datetime import datetime
from pathlib import Path

from django.db import Error, connection

from memoryhub.actions import sql, transactions
from memoryhub.actions.transactions import writing
from memoryhub.models import HubSettings

logger = logging.getLogger(__name__)

TRIES = 20
AT_ONCE_BYTES = 256 * 1024 * 1024
"""A file up to this size is written anew by whoever redacts (about a second); a larger one in the background."""

_rewritten: dict[str, datetime] = {}
"""For which redaction this process has written the file anew: a log that a reader keeps is no reason to do it again."""


def note(at: datetime) -> None:
    """Inside the transaction of a redaction: that SQLite's file has to be written anew, or PostgreSQL's samples.

    `secure_delete` zeroes what is deleted, but not the copies that a page keeps when its rows move to another one.
    PostgreSQL cleans its files by itself in time, or at once by `VACUUM FULL`, but keeps values for its planner.
    """
    _rewritten.clear()
    HubSettings.objects.update_or_create(pk=1, defaults={"scrub_since": at})


def scrub_small() -> None:
    """After a redaction: takes the remains away at once, unless the file is large."""
    if not connection.in_atomic_block and _size() <= AT_ONCE_BYTES:
        scrub()


def _size() -> int:
    """Bytes of SQLite's file; of another database none, whose sampling takes no time."""
    if connection.vendor != "sqlite":
        return 0
    path = Path(str(connection.settings_dict["NAME"]))
    return path.stat().st_size if path.exists() else 0


def scrub() -> bool:
    """Takes the remains away, if there may be any; gives whether none are left.

    It writes the file anew (about five seconds for a gigabyte, and as much free disk), while calls wait, once for each
    redaction; then it empties the write-ahead log, which a reader can keep: the next try follows in the background.
    """
    since = HubSettings.objects.filter(pk=1).values_list("scrub_since", flat=True).first()
    if since is None:
        return True
    for _ in range(TRIES):
        try:
            with transactions.write_lock, connection.wrap_database_errors:
                if _rewritten.get("since") != since:
                    sql.rewrite()
                    _rewritten["since"] = since
                done = sql.empty_log()
        except Error:
            done = False
        if done:
            with writing():
                HubSettings.objects.filter(scrub_since=since).update(scrub_since=None)
            return True
        time.sleep(0.05)
    logger.warning("What was redacted is not scrubbed from the disk yet: somebody is reading. Trying again")
    return False
