"""Rules for deliveries and webhooks: when to try again, when to give up, and when to pause a webhook."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

AFTER = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""The waits after the first, second … failed attempt: at most 13 attempts in about 77 hours."""

JITTER = 0.1
HOLDS_UP = 8
"""After this many failed attempts of a delivery (almost four hours), later deliveries may go before it."""

PAUSE_AFTER = timedelta(days=3)
LONGEST_WAIT = timedelta(days=1)
ROTATION = timedelta(hours=24)
"""The time after a rotation in which deliveries are also signed with the previous secret."""

LEASE = timedelta(seconds=60)
"""The time for which only one process may send to a webhook. A process that takes longer counts as ended."""

NO_WAIT_IS_LONGER = timedelta(days=2)
"""A next attempt that is further ahead than this was planned while the clock was wrong, and counts as due."""


@dataclass(frozen=True, slots=True)
class Next:
    """What follows a failed attempt. `at` is the time of the next attempt (None: there is none). `aside`: later
    deliveries may go before this delivery."""

    at: datetime | None
    aside: bool


def after_failure(
    attempts: int, status: int | None, retry_after: str, at: datetime, chance: Callable[[], float], *, aside: bool
) -> Next:
    """Return what follows a failed attempt. `attempts` is the number of failed attempts so far.

    `chance` returns a random number from 0 to 1, by which the wait varies. `aside`: even before this attempt failed,
    later deliveries were allowed to go before this delivery.
    """
    aside = aside or attempts >= HOLDS_UP or refused(status)
    if status == 410 or attempts > len(AFTER):
        return Next(None, aside)
    wait = AFTER[attempts - 1] * (1 + JITTER * (2 * chance() - 1))
    return Next(max(at + wait, asked_for(retry_after, at) or at), aside)


def refused(status: int | None) -> bool:
    """Return whether a status means that the receiver works but rejects this request.

    The fault is then in the request, not in the receiver.
    """
    return status is not None and 400 <= status < 500 and status not in (408, 425, 429)


def asked_for(retry_after: str, at: datetime) -> datetime | None:
    """Return the moment that a `Retry-After` names, but at most a day after `at`; None if it names none.

    A `Retry-After` is a number of seconds or a date.
    """
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
