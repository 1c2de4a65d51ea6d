"""Counts the calls that a store refuses because their key made too many in a minute, by store, key and day.

A refused call writes nothing. Each process counts its refused calls, and adds the counts to the database every few
seconds. Counts that are not yet in the database are lost when the process ends.
"""

import threading
from datetime import UTC, date, datetime, timedelta

from django.db.models import F

from memoryhub.actions.core.transactions import writing
from memoryhub.models import MemoryStore, RefusedCalls

KEPT = timedelta(days=30)

Place = tuple[str, str, date]
"""The ids of a store and of a key, and a day (UTC)."""

_counts: dict[Place, tuple[int, datetime]] = {}
"""{place: (number of refused calls that are not in the database yet, time of the last of them)}.

Only valid keys are counted.
"""
_lock = threading.Lock()


def note(store_id: str, key: str, calls: int, at: datetime) -> None:
    """Count refused calls of a key. The counts stay in this process until `write` writes them to the database."""
    with _lock:
        _add((store_id, key, at.astimezone(UTC).date()), calls, at)


def write() -> None:
    """Add the calls that were refused since the last run of this function to the counts in the database.

    Counts of the same keys that are older than KEPT are deleted. Counts that cannot be written are kept for the next
    time.
    """
    with _lock:
        counted = dict(_counts)
        _counts.clear()
    if not counted:
        return
    try:
        with writing():
            known = set(
                MemoryStore.objects.filter(pk__in={store for store, _, _ in counted}).values_list("pk", flat=True)
            )
            for store, key, day in sorted(counted):
                if store in known:
                    _write(store, key, day, *counted[store, key, day])
    except BaseException:
        with _lock:
            for place, (calls, at) in counted.items():
                _add(place, calls, at)
        raise


def _add(place: Place, calls: int, at: datetime) -> None:
    before, last = _counts.get(place, (0, at))
    _counts[place] = before + calls, max(last, at)


def _write(store: str, key: str, day: date, calls: int, at: datetime) -> None:
    rows = RefusedCalls.objects.filter(store=store, key=key)
    rows.filter(day__lt=day - KEPT).delete()
    RefusedCalls.objects.get_or_create(store_id=store, key=key, day=day, defaults={"last_at": at})
    rows.filter(day=day).update(count=F("count") + calls, last_at=at)
