"""Sensitive text and signs of poisoning that were found in memories, and the scans that search all texts of a store for
them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.rows import RowOfStore, within_store
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore


class FindingState(models.TextChoices):
    OPEN = "open", _("Open")
    DISMISSED = "dismissed", _("Dismissed")
    RESOLVED = "resolved", _("Resolved")


class FindingQuerySet(SealedQuerySet["Finding"]):
    def of_store(self, store_id: str) -> FindingQuerySet:
        return self.filter(store_id=store_id)

    def of_memory(self, store_id: str, memory_id: str) -> FindingQuerySet:
        return self.filter(store_id=store_id, memory_id=memory_id)

    def open(self) -> FindingQuerySet:
        return self.filter(state=FindingState.OPEN)

    def newest(self) -> FindingQuerySet:
        return self.order_by("-id")


class Finding(Sealed, RowOfStore):
    """A sensitive value of one kind in one memory. Any number of versions may contain the value, which is not stored.

    `fingerprint` is an HMAC of kind and value under the audit key (null after a redaction). `version` is the first
    version with the value. `start` and `end` are its positions, in code points, in the version's text, or in its path
    if `in_path`; `line` is the line of the value. A finding is resolved when the newest version no longer contains the
    value.

    In an earlier release of the hub, a person could mark a finding as resolved. For such a finding, `is_settled` is
    false until the background work has checked whether the value is gone.
    """

    HOME: ClassVar = "store_id"
    OUTSIDE: ClassVar = {"is_settled": "only says whether the background has still to look at the text"}

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    version = within_store("memoryhub.MemoryVersion")
    kind = models.CharField(max_length=40)
    in_path = models.BooleanField(default=False)
    line = models.BigIntegerField()
    start = models.BigIntegerField()
    end = models.BigIntegerField()
    fingerprint = models.TextField(null=True)
    state = models.CharField(max_length=9, choices=FindingState.choices, default=FindingState.OPEN)
    note = models.TextField(default="", blank=True)
    at = models.DateTimeField()
    seq = models.BigIntegerField(null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    decided_seq = models.BigIntegerField(null=True)
    is_settled = models.BooleanField(default=True, db_default=True)

    objects = FindingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["store", "memory", "kind", "fingerprint"],
                condition=Q(fingerprint__isnull=False),
                name="finding_once",
            )
        ]
        indexes = [
            models.Index(fields=["store", "state", "id"], name="finding_by_state"),
            models.Index(fields=["store", "state", "kind", "id"], name="finding_by_kind"),
            models.Index(fields=["store", "memory", "state", "id"], name="finding_of_memory"),
            models.Index(fields=["store", "id"], condition=Q(is_settled=False), name="finding_unsettled"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.memory_id}"


class ScanState(models.TextChoices):
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")


class Scan(models.Model):
    """A scan of every text that a store has ever had, with the rules that applied when the scan began.

    `position` is the last version that was scanned, as `memory/number`.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    state = models.CharField(max_length=9, choices=ScanState.choices)
    kinds = PlainJSONField(default=list)
    position = IdField(default="")
    total = models.BigIntegerField(default=0)
    checked = models.BigIntegerField(default=0)
    found = models.BigIntegerField(default=0)
    started_at = models.DateTimeField()
    started_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["store", "id"], name="scan_of_store")]
