"""Waiting times that a wrong clock does not prolong: a time that was noted while the clock was ahead causes no
delay."""

from datetime import datetime, timedelta

AHEAD = timedelta(days=1)
"""A time further in the future than this was noted while the clock was wrong; the clocks of two machines differ by
less."""


def has_passed(since: datetime, wait: timedelta, at: datetime) -> bool:
    """Return whether `wait` has passed since the moment `since`. Return True also if `since` is more than AHEAD in the
    future, because the clock must have been ahead when `since` was noted."""
    return at - since >= wait or since - at > AHEAD
