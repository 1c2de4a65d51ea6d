"""Waiting by a clock that can be wrong for a while: what was noted while it was ahead delays nothing later."""

from datetime import datetime, timedelta

AHEAD = timedelta(days=1)
"""What was noted further in the future than this was noted while the clock was wrong; two machines differ by less."""


def has_passed(since: datetime, wait: timedelta, at: datetime) -> bool:
    """Return whether so much time has passed since a moment, or the moment was noted by a clock that was ahead."""
    return at - since >= wait or since - at > AHEAD
