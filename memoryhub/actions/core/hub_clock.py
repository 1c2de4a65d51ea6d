"""The clock by which the hub deletes old rows: it moves only while the hub runs.

The computer's clock can jump ahead for some seconds, and everything would look old enough to be deleted. So this clock
moves by the time that the monotonic clock measured. It never passes the computer's clock. When the computer's clock is
ahead (the hub was stopped, or the clock was corrected), this clock moves a part of the difference closer.
"""

from datetime import datetime, timedelta

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Installation

CATCH_UP = timedelta(days=7)
"""The running time in which most of a difference is made up."""


def moved(clock: datetime, now: datetime, elapsed: timedelta) -> datetime:
    """Return the clock's new value after some running time.

    A clock that is a year ahead for 14 seconds moves it by 12 minutes; the remaining difference shrinks further.
    """
    there = clock + elapsed
    if now <= there:
        return now
    return there + (now - there) * min(1.0, elapsed / CATCH_UP)


def at_most(now: datetime) -> datetime:
    """Return the stored clock's time, or `now` if that is earlier; a jump of the computer's clock does not move it."""
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    return now if kept is None else min(now, kept)


def advance(now: datetime, elapsed: timedelta) -> datetime:
    """Move the stored clock by the time since this process last did so, and return its new value."""
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    clock = now if kept is None else moved(kept, now, elapsed)
    with writing():
        Installation.objects.update_or_create(pk=1, defaults={"clock": clock})
    return clock
