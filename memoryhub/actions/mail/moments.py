"""Waiting times that a wrong clock does not prolong: a moment that was noted while the clock was ahead delays
nothing."""

from datetime import datetime, timedelta

AHEAD = timedelta(days=1)
"""What was noted further in the future than this was noted while the clock was wrong; two machines differ by less."""


def has_passed(since: datetime, wait: timedelta, at: datetime) -> bool:
    """Return whether `wait` has passed since a moment. True, too, if a clock that was ahead noted the moment."""
    return at - since >= wait or since - at > AHEAD
