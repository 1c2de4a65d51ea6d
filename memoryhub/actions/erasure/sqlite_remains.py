"""What a database keeps of overwritten rows outside its tables, and how it is taken away.

`secure_delete` zeroes what is deleted, but not the copies that a page keeps when its rows move to another one, so that
after a redaction SQLite's file is written anew. That needs little memory, and free disk for two more copies; calls wait
meanwhile. A small file is written anew by whoever redacts (about a second); a large one in the background, at an hour
that the administrator has chosen. Each try is noted before it begins: where the process is killed meanwhile, it does
not try again at every start.
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
"""A file up to this size is written anew by whoever redacts; a larger one in the background, at its hour."""
COPIES = 2
"""Free disk that is needed, in sizes of the file: SQLite's temporary copy, and the write-ahead log."""
AGAIN = timedelta(minutes=10)
"""A small file is not tried again in the background before."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
BYTES_A_SECOND = 80_000_000
"""What a usual disk writes anew in a second, for an estimate."""

_one_at_a_time = threading.Lock()
_rewritten: dict[str, datetime] = {}
"""For which redaction this process has written the file anew: a log that a reader keeps is no reason to do it again."""


class NotScrubbed(Exception):
    """The remains could not be taken away; the message is a sentence for an administrator."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What there is to scrub: since when (null: nothing), of how large a file, when, and when it was last tried."""

    since: datetime | None
    size: int
    hour: int
    asked: bool
    begun_at: datetime | None

    @property
    def is_large(self) -> bool:
        return self.size > AT_ONCE_BYTES

    @property
    def seconds(self) -> int:
        """About how long calls will wait."""
        return max(1, round(self.size / BYTES_A_SECOND))


def note(at: datetime) -> None:
    """Inside the transaction of a redaction: that SQLite's file has to be written anew, or PostgreSQL's samples.

    PostgreSQL cleans its files by itself in time, or at once by `VACUUM FULL`, but keeps values for its planner.
    """
    _rewritten.clear()
    HubSettings.objects.update_or_create(pk=1, defaults={"scrub_since": at})


def remains() -> Remains:
    """How it stands."""
    row = HubSettings.current()
    return Remains(row.scrub_since, _size(), row.scrub_hour, row.scrub_asked, row.scrub_begun_at)


def scrub_small() -> None:
    """After a redaction: takes the remains away at once, unless the file is large."""
    if connection.in_atomic_block or _size() > AT_ONCE_BYTES:
        return
    try:
        scrub(timezone.now())
    except NotScrubbed as problem:
        logger.warning("What was redacted is not scrubbed from the disk yet; trying again. %s", problem)


def scrub_due(at: datetime) -> None:
    """In the background: takes the remains away where there are any and it is time. Raises NotScrubbed."""
    there = remains()
    if there.since is not None and is_due(there, at):
        scrub(at)


def is_due(there: Remains, at: datetime) -> bool:
    """Whether to try now: at once for a small file or where somebody has asked, else at the hour, or a day after.

    A clock that was set back makes it early or a day late, and never keeps it from happening.
    """
    tried = there.begun_at
    if there.since is not None and _rewritten.get("since") == there.since:
        return True  # only the log is left to be emptied
    if there.asked:
        return True
    if not there.is_large:
        return tried is None or abs(at - tried) >= AGAIN
    if at.hour == there.hour:
        return tried is None or abs(at - tried) >= HOUR
    last = max(moment for moment in (there.since, tried) if moment is not None)
    return at - last >= DAY


def ask(act: Act) -> None:
    """Somebody wants it done now; the background begins within seconds."""
    with writing():
        HubSettings.objects.filter(pk=1, scrub_since__isnull=False).update(scrub_asked=True)
        audit.on_hub(act, Record("ask_scrub"))


def set_hour(hour: int, act: Act) -> None:
    """At which hour (UTC) a large file is written anew."""
    with writing():
        head = audit.lock_hub()
        row, _ = HubSettings.objects.get_or_create(pk=1)
        if row.scrub_hour != hour:
            HubSettings.objects.filter(pk=1).update(scrub_hour=hour)
            audit.append(head, act, Record("set_scrub_hour", input=audit.to_json({"hour": [row.scrub_hour, hour]})))


def _file() -> Path | None:
    """SQLite's file; of another database none, whose sampling takes no time."""
    if connection.vendor != "sqlite":
        return None
    path = Path(str(connection.settings_dict["NAME"]))
    return path if path.exists() else None


def _size() -> int:
    path = _file()
    return path.stat().st_size if path else 0


def scrub(at: datetime) -> None:
    """Takes the remains away, if there may be any. Raises NotScrubbed where some are left.

    It writes the file anew once for each redaction, while calls wait; then it empties the write-ahead log, which a
    reader can keep: the next try follows in the background.
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
    raise NotScrubbed("The file is written anew, and its write-ahead log is still being read by another process.")


def _rewrite(since: datetime, at: datetime) -> None:
    _require_room()
    with writing():
        HubSettings.objects.filter(pk=1).update(scrub_begun_at=at, scrub_asked=False)
    try:
        with transactions.write_lock, connection.wrap_database_errors:
            sql.rewrite()
    except Error as error:
        raise NotScrubbed(f"The database’s file could not be written anew: {error}.") from error
    _rewritten["since"] = since


def _require_room() -> None:
    """Before anything is begun: whether there is disk for the copies."""
    path = _file()
    if path is None:
        return
    needed, free = COPIES * sql.bytes_in_use(), shutil.disk_usage(path.parent).free
    if free < needed:
        raise NotScrubbed(
            f"Writing the database’s file anew needs {needed // 1_000_000:,} MB of free disk, and there are"
            f" {free // 1_000_000:,} MB."
        )


def _empty_log() -> bool:
    try:
        with transactions.write_lock, connection.wrap_database_errors:
            return sql.empty_log()
    except Error:
        return False
