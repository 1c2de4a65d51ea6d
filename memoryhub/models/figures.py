"""Figures that the background counts from entries and versions, so that a chart takes the same time in a store of any
size.

All figures except CallCount and RefusedCalls are derived data: they can be deleted and counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db import models
from django.db.models import Max, Q, Sum

from memoryhub.models.fields import IdField, PathField, PlainJSONField
from memoryhub.models.rows import RowOfStore
from memoryhub.models.stores import MemoryStore

ALL = "*"
"""The author in a row that sums over all authors, and the command in a row that sums over all commands."""

OK = "ok"
"""The outcome under which acts that were not refused are counted."""


Key = tuple[date, str, str, str]
"""Day, author, command and outcome of a count."""


class ActivityQuerySet(models.QuerySet["Activity"]):
    def of_stores(self, stores: Iterable[str]) -> ActivityQuerySet:
        return self.filter(store__in=stores)

    def since(self, day: date | None) -> ActivityQuerySet:
        """Return the rows from a day on; the rows of all days if `day` is None."""
        return self if day is None else self.filter(day__gte=day)

    def by_command(self, author: str = ALL) -> ActivityQuerySet:
        """Return one row per day, command and outcome: the counts of one author or, by default, the sums over all
        authors."""
        return self.filter(author=author).exclude(command=ALL)

    def in_sum(self, author: str = ALL) -> ActivityQuerySet:
        """Return one row per day and outcome, with the sum over all commands: the counts of one author or, by default,
        the sums over all authors."""
        return self.filter(author=author, command=ALL)

    def by_author(self) -> ActivityQuerySet:
        """Return one row per day, author and outcome, summed over all commands."""
        return self.filter(command=ALL).exclude(author=ALL)

    def counts(self) -> Counter[Key]:
        """Return {(day, author, command, outcome): count}. The query must be limited to one store."""
        rows = self.values_list("day", "author", "command", "outcome", "count")
        return Counter({(day, author, command, outcome): count for day, author, command, outcome, count in rows})

    def summed(self, *columns: str) -> list[tuple[object, ...]]:
        """Return one tuple for each combination of values in these columns: the values, then the sum of the counts.

        The tuples are sorted by the values.
        """
        found = self.values(*columns).annotate(total=Sum("count")).order_by(*columns)
        return list(found.values_list(*columns, "total"))


class Activity(RowOfStore):
    """The number of acts in a store on a day (UTC) with one author, command and outcome.

    `outcome` is OK or a kind of error. `author` is the id of an agent or a person, or "". Each entry is counted in four
    rows: with its author and its command, and with ALL in place of the author, the command, or both.
    """

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    author = IdField(default="")
    day = models.DateField()
    command = PathField()
    outcome = PathField()
    count = models.BigIntegerField(default=0)

    objects = ActivityQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["store", "author", "day", "command", "outcome"], name="activity_once")
        ]
        indexes = [models.Index(fields=["store", "command", "day"], name="activity_by_command")]


class Growth(RowOfStore):
    """The changes of a store on a day (UTC): memories added minus memories removed, bytes added minus bytes removed,
    and the number of versions written."""

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    day = models.DateField()
    memories = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    versions = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "day"], name="growth_once")]


class RefusedCallsQuerySet(models.QuerySet["RefusedCalls"]):
    def of_stores(self, stores: Iterable[str]) -> RefusedCallsQuerySet:
        return self.filter(store__in=stores)

    def since(self, day: date) -> RefusedCallsQuerySet:
        return self.filter(day__gte=day)

    def by_key(self, today: date) -> models.QuerySet[Any, Any]:
        """Return one row for each key and store, the row with the latest refusal first.

        A row has `store_id`, `key`, `calls` (the number of refused calls on all days), `today` (the number on the day
        `today`, or None) and `last` (the time of the last refusal).
        """
        of_today = Sum("count", filter=Q(day=today))
        found = self.values("store_id", "key").annotate(calls=Sum("count"), today=of_today, last=Max("last_at"))
        return found.order_by("-last", "store_id", "key")


class RefusedCalls(RowOfStore):
    """The number of refused calls of one key in one store on one day (UTC), and the time of the last one.

    They were refused because the key made more calls in a minute than the store allows. Such calls have no entry: see
    `actions.memories.refused_calls`.
    """

    pk = models.CompositePrimaryKey("store", "key", "day")
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    key = IdField()
    day = models.DateField()
    count = models.BigIntegerField(default=0)
    last_at = models.DateTimeField()

    objects = RefusedCallsQuerySet.as_manager()


class CallCount(models.Model):
    """The number of entries with one command, door and outcome that were ever written, in all memory stores together.
    The metrics show it.

    `micros` is the sum of the entries' durations, and `buckets` has the number of entries by duration (see
    `actions.core.audit.metering`). The counts outlive the entries and the stores.
    """

    pk = models.CompositePrimaryKey("command", "door", "outcome")
    command = PathField()
    door = PathField()
    outcome = PathField()
    count = models.BigIntegerField(default=0)
    micros = models.BigIntegerField(default=0)
    buckets = PlainJSONField(default=list)


class MeteredChain(models.Model):
    """How far a chain has been counted in CallCount: `seq` is the seq of the last counted entry.

    The counts in CallCount cannot be made again, because they outlive the entries.
    """

    chain = IdField(primary_key=True)
    seq = models.BigIntegerField()


class Figures(models.Model):
    """How far a store's entries have been counted, and `lists` of its memories (see `actions.figures.lists_of`).

    `seq` is the seq of the last counted entry, and `at` its time. When the `lists` were made, `seq` was `listed_seq`.
    """

    store = models.OneToOneField(MemoryStore, models.CASCADE, primary_key=True, related_name="+")
    seq = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    lists = PlainJSONField(default=dict)
    listed_seq = models.BigIntegerField(default=0)
    listed_at = models.DateTimeField(null=True)
