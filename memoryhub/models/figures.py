"""Figures counted from entries and versions as time goes by, so that a picture of them costs the same in any store.

They are derived: what is here can be thrown away and counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date

from django.db import models
from django.db.models import Sum

from memoryhub.models.fields import IdField, PathField, PlainJSONField
from memoryhub.models.rows import RowOfStore
from memoryhub.models.stores import MemoryStore

ALL = "*"
"""In the place of an author or a command: the sum over all of them."""

OK = "ok"
"""The outcome of what was not refused."""


Key = tuple[date, str, str, str]
"""Day, author, command and outcome of something that is counted."""


class ActivityQuerySet(models.QuerySet["Activity"]):
    def of_stores(self, stores: Iterable[str]) -> ActivityQuerySet:
        return self.filter(store__in=stores)

    def since(self, day: date | None) -> ActivityQuerySet:
        """The rows from a day on; null: the rows of every day."""
        return self if day is None else self.filter(day__gte=day)

    def by_command(self, author: str = ALL) -> ActivityQuerySet:
        """One row a day, command and outcome: of one author, or of all together."""
        return self.filter(author=author).exclude(command=ALL)

    def in_sum(self, author: str = ALL) -> ActivityQuerySet:
        """One row a day and outcome, all commands together."""
        return self.filter(author=author, command=ALL)

    def by_author(self) -> ActivityQuerySet:
        """One row a day, author and outcome, all commands together."""
        return self.filter(command=ALL).exclude(author=ALL)

    def counts(self) -> Counter[Key]:
        """How often each was counted, of one store."""
        rows = self.values_list("day", "author", "command", "outcome", "count")
        return Counter({(day, author, command, outcome): count for day, author, command, outcome, count in rows})

    def summed(self, *columns: str) -> list[tuple[object, ...]]:
        """Rows of the columns and the sum of what they counted, in the order of the columns."""
        found = self.values(*columns).annotate(total=Sum("count")).order_by(*columns)
        return list(found.values_list(*columns, "total"))


class Activity(RowOfStore):
    """How many calls and acts of one kind there were on a day (UTC) in a store, by whom and how they ended.

    `outcome` is OK or a kind of error; `author` is the id of an agent or a person, or empty. Each entry is counted in
    four rows: with its author and command, and with ALL in the place of one or both of them.
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
    """How a day (UTC) changed a store: memories and bytes that came less those that went, and versions written."""

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    day = models.DateField()
    memories = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    versions = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "day"], name="growth_once")]


class Figures(models.Model):
    """Up to which entry a store has been counted, and its lists: most read, most changed, never read.

    `at` is the moment of the entry `seq`; `lists` were made when everything up to `listed_seq` was counted.
    """

    store = models.OneToOneField(MemoryStore, models.CASCADE, primary_key=True, related_name="+")
    seq = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    lists = PlainJSONField(default=dict)
    listed_seq = models.BigIntegerField(default=0)
    listed_at = models.DateTimeField(null=True)
