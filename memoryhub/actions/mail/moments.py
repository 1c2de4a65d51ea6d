"""Waiting times that a wrong clock does not prolong."""

from datetime import datetime, timedelta

AHEAD = timedelta(days=1)
"""A time further in the future than this was noted while the clock was wrong; the clocks of two machines differ by
less."""


def has_passed(since: datetime, wait: timedelta, at: datetime) -> bool:
    """Return whether `wait` has passed since the moment `since`.

    True also if `since` is more than AHEAD in the future: the clock was ahead then.
    """
    return at - since >= wait or since - at > AHEAD
