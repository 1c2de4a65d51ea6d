"""Removes copies of overwritten rows, which a database keeps outside its tables.

`secure_delete` zeroes deleted rows, but not the old copies of rows that moved to another page. So SQLite's file is
rewritten after a redaction. Calls wait for this, and the disk needs space for two more copies. A small file is
rewritten at once; a large one in the background, at the hour that the administrator has chosen.
"""

import logging
import shutil
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.db import Error, connection
from django.utils import timezone

from memoryhub.actions.core import audit, sql, transactions
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HubSettings

logger = logging.getLogger(__name__)

TRIES = 20
AT_ONCE_BYTES = 256 * 1024 * 1024
"""The size up to which the redacting request rewrites the file; a larger file waits for the background."""
COPIES = 2
"""The free disk space needed, in file sizes: SQLite's temporary copy and the write-ahead log."""
AGAIN = timedelta(minutes=10)
"""The least time between two attempts of the background on a small file."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
BYTES_A_SECOND = 80_000_000
"""The speed of a rewrite on a usual disk, for an estimate."""

_one_at_a_time = threading.Lock()
_rewritten: dict[str, datetime] = {}
"""{"since": the time of the redaction after which this process has rewritten the file}.

If a reader still uses the log, only the log has to be emptied again, and the file needs no second rewrite.
"""


class NotScrubbed(Exception):
    """The copies could not be removed; the message is a sentence for an administrator."""


@dataclass(frozen=True, slots=True)
class Remains:
    """The state of the clean-up."""

    since: datetime | None  # when copies began to exist (None: there are none)
    size: int  # of the file, in bytes
    hour: int  # (UTC) that the administrator chose
    asked: bool  # whether someone requested the clean-up
    begun_at: datetime | None  # the time of the last attempt

    @property
    def is_large(self) -> bool:
        return self.size > AT_ONCE_BYTES

    @property
    def seconds(self) -> int:
        """Return an estimate of how many seconds calls have to wait during a clean-up."""
        return max(1, round(self.size / BYTES_A_SECOND))


def note(at: datetime) -> None:
    """Record, in the transaction of a redaction, that copies of redacted content have to be removed.

    On SQLite, the file will be rewritten. On PostgreSQL, the planner's statistics will be computed again.
    """
    _rewritten.clear()
    HubSettings.objects.update_or_create(pk=1, defaults={"scrub_since": at})


def remains() -> Remains:
    row = HubSettings.current()
    return Remains(row.scrub_since, _size(), row.scrub_hour, row.scrub_asked, row.scrub_begun_at)


def scrub_small() -> None:
    """Remove the copies right after a redaction, if the file is small and no transaction is open."""
    if connection.in_atomic_block or _size() > AT_ONCE_BYTES:
        return
    try:
        scrub(timezone.now())
    except NotScrubbed as problem:
        logger.warning("What was redacted is not scrubbed from the disk yet; trying again. %s", problem)


def scrub_due(at: datetime) -> None:
    """Remove the copies in the background if this is due. Raises NotScrubbed."""
    there = remains()
    if there.since is not None and is_due(there, at):
        scrub(at)


def is_due(there: Remains, at: datetime) -> bool:
    """Return whether to remove the copies now. From a file of at most AT_ONCE_BYTES, they are removed at once.

    From a larger file, they are removed at the chosen hour. If this hour was missed, they are removed a day after the
    last attempt or the last redaction, whichever is later. A person's request (`asked`) makes the clean-up due at once.
    """
    tried = there.begun_at
    if there.since is not None and _rewritten.get("since") == there.since:
        return True  # only the log still has to be emptied
    if there.asked:
        return True
    if not there.is_large:
        return tried is None or abs(at - tried) >= AGAIN
    if at.hour == there.hour:
        return tried is None or abs(at - tried) >= HOUR
    last = max(moment for moment in (there.since, tried) if moment is not None)
    return at - last >= DAY


def ask(act: Act) -> None:
    """Request the clean-up. The background begins it within seconds."""
    with writing():
        HubSettings.objects.filter(pk=1, scrub_since__isnull=False).update(scrub_asked=True)
        audit.on_hub(act, Record("ask_scrub"))


def set_hour(hour: int, act: Act) -> None:
    """Set the hour (UTC) at which the background rewrites a large file."""
    with writing():
        head = audit.lock_hub()
        row, _ = HubSettings.objects.get_or_create(pk=1)
        if row.scrub_hour != hour:
            HubSettings.objects.filter(pk=1).update(scrub_hour=hour)
            audit.append(head, act, Record("set_scrub_hour", input=audit.to_json({"hour": [row.scrub_hour, hour]})))


def _file() -> Path | None:
    """Return the path of SQLite's file. None if there is no file, and on PostgreSQL."""
    if connection.vendor != "sqlite":
        return None
    path = Path(str(connection.settings_dict["NAME"]))
    return path if path.exists() else None


def _size() -> int:
    path = _file()
    return path.stat().st_size if path else 0


def scrub(at: datetime) -> None:
    """Remove the copies, if there may be any. Raises NotScrubbed if some are left.

    Calls wait while the file is rewritten.
    """
    with _one_at_a_time:
        _scrub(at)


def _scrub(at: datetime) -> None:
    since = HubSettings.objects.filter(pk=1).values_list("scrub_since", flat=True).first()
    if since is None:
        return
    if _rewritten.get("since") != since:
        _rewrite(since, at)
    for _ in range(TRIES):
        if _empty_log():
            with writing():
                HubSettings.objects.filter(scrub_since=since).update(scrub_since=None)
            return
        time.sleep(0.05)
    raise NotScrubbed("The file was rewritten, but its write-ahead log is still being read by another process.")


def _rewrite(since: datetime, at: datetime) -> None:
    _require_room()
    with writing():
        HubSettings.objects.filter(pk=1).update(scrub_begun_at=at, scrub_asked=False)
    try:
        with transactions.write_lock, connection.wrap_database_errors:
            sql.rewrite()
    except Error as error:
        raise NotScrubbed(f"The database’s file could not be rewritten: {error}.") from error
    _rewritten["since"] = since


def _require_room() -> None:
    """Raise NotScrubbed if the disk has no space for the copies."""
    path = _file()
    if path is None:
        return
    needed, free = COPIES * sql.bytes_in_use(), shutil.disk_usage(path.parent).free
    if free < needed:
        raise NotScrubbed(
            f"Rewriting the database’s file needs {needed // 1_000_000:,} MB of free disk, and there are"
            f" {free // 1_000_000:,} MB."
        )


def _empty_log() -> bool:
    try:
        with transactions.write_lock, connection.wrap_database_errors:
            return sql.empty_log()
    except Error:
        return False
