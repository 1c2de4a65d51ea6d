"""The clock by which the hub deletes old rows. It moves only while the hub runs.

The computer's clock can jump ahead for some seconds. So this clock moves by measured running time, and only slowly
towards the computer's clock. It never passes the computer's clock.
"""

from datetime import datetime, timedelta

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Installation

CATCH_UP = timedelta(days=7)
"""If the two clocks differ, most of the difference is made up after the hub has run for this time."""


def moved(clock: datetime, now: datetime, elapsed: timedelta) -> datetime:
    """Return `clock` after `elapsed` running time, when the computer's clock shows `now`.

    First the clock moves by `elapsed`. If it is then still behind `now`, it also moves by a part of the remaining
    difference: `elapsed / CATCH_UP` of it. The result is never later than `now`.

    Example: the computer's clock jumps a year ahead for 14 seconds. In these seconds, this clock gains 12 minutes.
    """
    there = clock + elapsed
    if now <= there:
        return now
    return there + (now - there) * min(1.0, elapsed / CATCH_UP)


def at_most(now: datetime) -> datetime:
    """Return the stored clock's time or `now`, whichever is earlier. If no clock is stored, return `now`.

    A jump of the computer's clock does not move the stored clock.
    """
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    return now if kept is None else min(now, kept)


def advance(now: datetime, elapsed: timedelta) -> datetime:
    """Move the stored clock and return its new value. `elapsed` is the time since this process last moved it."""
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    clock = now if kept is None else moved(kept, now, elapsed)
    with writing():
        Installation.objects.update_or_create(pk=1, defaults={"clock": clock})
    return clock
