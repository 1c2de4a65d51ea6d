"""The clock by which the hub forgets: it goes on while the hub runs, and a clock that jumps does not move it far.

The computer's clock can be wrong: ahead for some seconds, and everything would look old enough to be forgotten. So this
one moves by the time that has really passed, measured by the monotonic clock. It never passes the computer's clock, and
where that is ahead (the hub was stopped, or the clock was put right) it comes nearer by a part of the difference.
"""

from datetime import datetime, timedelta

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Installation

CATCH_UP = timedelta(days=7)
"""The time of running in which most of a difference is made up."""


def moved(clock: datetime, now: datetime, elapsed: timedelta) -> datetime:
    """Where the clock stands after some time of running.

    A clock that is a year ahead for 14 seconds moves it by 12 minutes; the difference that is left goes on shrinking.
    """
    there = clock + elapsed
    if now <= there:
        return now
    return there + (now - there) * min(1.0, elapsed / CATCH_UP)


def at_most(now: datetime) -> datetime:
    """The moment by the clock that is kept, which a jump of the computer's does not move; never later than that."""
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    return now if kept is None else min(now, kept)


def advance(now: datetime, elapsed: timedelta) -> datetime:
    """Moves the clock that is kept by the time since this process did so last, and gives where it stands."""
    kept = Installation.objects.filter(pk=1).values_list("clock", flat=True).first()
    clock = now if kept is None else moved(kept, now, elapsed)
    with writing():
        Installation.objects.update_or_create(pk=1, defaults={"clock": clock})
    return clock
