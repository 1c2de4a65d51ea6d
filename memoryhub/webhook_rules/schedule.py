"""When a delivery is tried again, when it is given up, and when a webhook is paused: rules over facts and a clock."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

AFTER = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""The waits after the first, second … failed try: 13 tries in about 77 hours."""

JITTER = 0.1
HOLDS_UP = 8
"""So many tries of a delivery hold up those behind it (almost four hours); then they pass it."""

PAUSE_AFTER = timedelta(days=3)
LONGEST_WAIT = timedelta(days=1)
ROTATION = timedelta(hours=24)
"""So long the secret before a rotation signs too."""

LEASE = timedelta(seconds=60)
"""So long one process has a webhook for itself while it sends; after that its process is taken to be gone."""

NO_WAIT_IS_LONGER = timedelta(days=2)
"""A next try that is further ahead was set while the clock was wrong, and is due; so is what a LEASE cannot explain."""


@dataclass(frozen=True, slots=True)
class Next:
    """What a failed try leads to: tried again at `at` (null: given up), and whether those behind it may pass."""

    at: datetime | None
    aside: bool


def after_failure(
    attempts: int, status: int | None, retry_after: str, at: datetime, chance: Callable[[], float], *, aside: bool
) -> Next:
    """After so many failed tries; `chance` gives a number from 0 to 1."""
    aside = aside or attempts >= HOLDS_UP or refused(status)
    if status == 410 or attempts > len(AFTER):
        return Next(None, aside)
    wait = AFTER[attempts - 1] * (1 + JITTER * (2 * chance() - 1))
    return Next(max(at + wait, asked_for(retry_after, at) or at), aside)


def refused(status: int | None) -> bool:
    """Whether the receiver is there and does not take this one: an error of the request, not of the receiver."""
    return status is not None and 400 <= status < 500 and status not in (408, 425, 429)


def asked_for(retry_after: str, at: datetime) -> datetime | None:
    """The moment that a `Retry-After` names in seconds or as a date, never more than a day ahead; null without one."""
    if retry_after.isascii() and retry_after.isdigit():
        seconds = min(int(retry_after[:9]), int(LONGEST_WAIT.total_seconds()))
        return at + timedelta(seconds=seconds)
    try:
        named = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    return min(named if named.tzinfo else named.replace(tzinfo=UTC), at + LONGEST_WAIT)


def has_failed_too_long(failing_since: datetime | None, at: datetime) -> bool:
    return failing_since is not None and at - failing_since >= PAUSE_AFTER
