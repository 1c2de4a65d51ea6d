"""Which backups are kept: the newest backups, and the newest backup of each of the last weeks and months."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Keep:
    """How many backups are kept: the newest backups, the newest backup of each week, and the newest backup of each
    month."""

    newest: int = 7
    weekly: int = 4
    monthly: int = 6


def superseded(moments: Iterable[datetime], keep: Keep, now: datetime) -> set[datetime]:
    """Return the moments whose backups are to be deleted. The newest backup is always kept.

    A backup whose moment is in the future was made while the clock was ahead: it stays until then, and supersedes no
    other backup.
    """
    ordered = sorted({at for at in moments if at <= now}, reverse=True)
    kept = set(ordered[: max(1, keep.newest)])
    kept |= _newest_of(ordered, keep.weekly, lambda at: at.isocalendar()[:2])
    kept |= _newest_of(ordered, keep.monthly, lambda at: (at.year, at.month))
    return set(ordered) - kept


def _newest_of(ordered: list[datetime], count: int, period: Callable[[datetime], object]) -> set[datetime]:
    newest: dict[object, datetime] = {}
    for at in ordered:
        newest.setdefault(period(at), at)
    return set(list(newest.values())[:count])
