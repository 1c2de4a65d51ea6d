"""Waiting times that a wrong clock does not prolong: a time that was noted while the clock was ahead causes no
delay."""

from datetime import datetime, timedelta

AHEAD = timedelta(days=1)
"""A time further in the future than this was noted while the clock was wrong; the clocks of two machines differ by
less."""


def has_passed(since: datetime, wait: timedelta, at: datetime) -> bool:
    """Return whether `wait` has passed since a moment. Return True also if the moment is so far in the future that the
    clock must have been ahead."""
    return at - since >= wait or since - at > AHEAD
