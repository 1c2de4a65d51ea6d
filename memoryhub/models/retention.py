"""Retention: policies, holds and pins, and the runs that remove what is due."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, PathField
from memoryhub.models.rows import RowOfStore
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore


class RetentionPolicyQuerySet(SealedQuerySet["RetentionPolicy"]):
    def of_store(self, store_id: str) -> RetentionPolicyQuerySet:
        """Return the policies of the store itself, with and without a pattern, but not the policies of the hub."""
        return self.filter(store_id=store_id)

    def of_hub(self) -> RetentionPolicyQuerySet:
        return self.filter(store=None)

    def concerning(self, store_id: str) -> RetentionPolicyQuerySet:
        """Return every policy that may apply in a store: the store's own and the hub's."""
        return self.filter(Q(store_id=store_id) | Q(store=None)).order_by("id")


class RetentionPolicy(Sealed):
    """A retention policy: how long memories are kept if their path matches `pattern` ("": every path).

    Without a `store`, the policy is the hub's and applies in every store. A rule that is null does not apply. A day is
    24 hours. A memory that a policy moved to the trash stays there for `grace_days`; any other memory stays in the
    trash for `trash_days`. `keep_entry_days` takes effect only in policies without a pattern. With `keeps_approved`, a
    memory does not expire if a person wrote or approved its newest version. With `expires_together`, a memory expires
    when all rules of the policy are due; otherwise when the first of them is due.
    """

    HOME: ClassVar = "store_id"

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, null=True, db_index=False, related_name="policies")
    pattern = PathField(default="", blank=True)
    name = models.CharField(max_length=100)
    expire_unread_days = models.BigIntegerField(null=True, blank=True)
    expire_unchanged_days = models.BigIntegerField(null=True, blank=True)
    expire_older_days = models.BigIntegerField(null=True, blank=True)
    keep_versions = models.BigIntegerField(null=True, blank=True)
    keep_version_days = models.BigIntegerField(null=True, blank=True)
    keep_entry_days = models.BigIntegerField(null=True, blank=True)
    grace_days = models.BigIntegerField(default=30)
    trash_days = models.BigIntegerField(null=True, blank=True)
    keeps_approved = models.BooleanField(default=False, db_default=False)
    expires_together = models.BooleanField(default=False, db_default=False)
    paused = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = RetentionPolicyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["store", "pattern"], name="policy_once"),
            models.UniqueConstraint(fields=["pattern"], condition=Q(store=None), name="policy_of_hub_once"),
        ]

    def __str__(self) -> str:
        return self.name


class HoldKind(models.TextChoices):
    PIN = "pin", _("Pin")
    HOLD = "hold", _("Legal hold")


class HoldQuerySet(SealedQuerySet["Hold"]):
    def of_store(self, store_id: str) -> HoldQuerySet:
        return self.filter(store_id=store_id)

    def active(self, at: datetime) -> HoldQuerySet:
        """Return the holds that are neither released nor ended at a moment."""
        return self.filter(Q(ends_at=None) | Q(ends_at__gt=at), released_at=None)

    def of_case(self, store_id: str, kind: str, case_number: str) -> HoldQuerySet:
        """Return the holds of a kind that belong to one case of a store."""
        return self.filter(store_id=store_id, kind=kind, case_number=case_number)

    def legal(self) -> HoldQuerySet:
        return self.filter(kind=HoldKind.HOLD)


class Hold(Sealed, RowOfStore):
    """A pin or a legal hold: on one `memory`, on a directory (`path`), or on the whole store (`path` is "").

    A pin stops only retention policies. A legal hold also stops removals by people and agents. A hold that `freezes`
    stops every change. Holds with the same `case_number` can be released together ("": the hold belongs to no case).
    """

    HOME: ClassVar = "store_id"

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="holds")
    kind = models.CharField(max_length=4, choices=HoldKind.choices)
    memory = IdField(null=True)
    path = PathField(null=True)
    reason = models.TextField()
    owner = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    created_at = models.DateTimeField()
    freezes = models.BooleanField(default=False, db_default=False)
    case_number = models.TextField(default="", db_default="", blank=True)
    ends_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    released_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    seq = models.BigIntegerField()
    released_seq = models.BigIntegerField(null=True)

    objects = HoldQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["store", "released_at", "id"], name="hold_of_store")]

    def __str__(self) -> str:
        return f"{self.kind} {self.memory or self.path or '/'}"


class RunState(models.TextChoices):
    WAITING = "waiting", _("Asks before it goes on")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")


class Guard(models.TextChoices):
    CLOCK = "clock", _("The clock moved")
    MANY = "many", _("Unusually many memories")


class RunQuerySet(models.QuerySet["Run"]):
    def of_store(self, store_id: str | None) -> RunQuerySet:
        return self.filter(store_id=store_id)

    def open(self) -> RunQuerySet:
        """Return the runs that have not ended: those that are running, and those that wait for a person's answer."""
        return self.filter(state__in=[RunState.WAITING, RunState.RUNNING])

    def newest(self) -> RunQuerySet:
        return self.order_by("-id")


class Run(models.Model):
    """One run of the policies over a store, as of the time `at`. If `store` is null, it is a run over the hub's own
    audit.

    The id is also the group of its audit entries. `expected` is the number of items that were due at its start; `items`
    record the removals. `told` is the last state that was reported to webhooks.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, null=True, db_index=False, related_name="+")
    at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=RunState.choices)
    guard = models.CharField(max_length=5, choices=Guard.choices, blank=True, default="")
    guard_allowed_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    started_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    expected = models.BigIntegerField(default=0)
    expired = models.BigIntegerField(default=0)
    purged = models.BigIntegerField(default=0)
    versions = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    told = models.CharField(max_length=9, default="", blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["store", "id"], name="run_of_store")]

    def __str__(self) -> str:
        return f"{self.state} {self.at:%Y-%m-%d %H:%M}"


class Removal(models.TextChoices):
    EXPIRE = "expire", _("Into the trash")
    PURGE = "purge", _("Removed for good")
    VERSIONS = "versions", _("Old versions removed")
    ENTRIES = "entries", _("Audit entries removed")


class RunItem(models.Model):
    """One removal that was due in a run: of one memory, of versions of it, or of audit entries (`memory` is "").

    `skipped` says why the run did not make this removal ("": it made it). `rule` is a name from `retention_rules`.
    """

    run = models.ForeignKey(Run, models.CASCADE, db_index=False, related_name="items")
    removal = models.CharField(max_length=8, choices=Removal.choices)
    memory = IdField(default="")
    policy = IdField(null=True)
    rule = models.CharField(max_length=20)
    days = models.BigIntegerField(null=True)
    since = models.DateTimeField(null=True)
    count = models.BigIntegerField(default=1)
    bytes = models.BigIntegerField(default=0)
    skipped = models.CharField(max_length=20, default="")
    seq = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "removal", "memory"], name="run_item_once")]
        indexes = [models.Index(fields=["run", "id"], name="run_item_in_order")]
