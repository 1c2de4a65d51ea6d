"""Reviewers' decisions about versions that agents wrote, assignments of reviews, and claims of memories that people are
reviewing now."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField
from memoryhub.models.rows import RowOfStore, within_store
from memoryhub.models.stores import MemoryStore


class Decision(models.TextChoices):
    APPROVED = "approved", _("Approved")
    REVERTED = "reverted", _("Reverted")
    EDITED = "edited", _("Edited and approved")
    FLAGGED = "flagged", _("Flagged")
    UNFLAGGED = "unflagged", _("Flag removed")
    REOPENED = "reopened", _("Awaits review again")


class ReviewQuerySet(models.QuerySet["Review"]):
    def of_memory(self, store_id: str, memory_id: str) -> ReviewQuerySet:
        return self.filter(store_id=store_id, memory_id=memory_id)

    def of_entry(self, chain: str, seq: int) -> ReviewQuerySet:
        return self.filter(store_id=chain, seq=seq)

    def newest(self) -> ReviewQuerySet:
        return self.order_by("-seq", "-id")

    def approvals_of(self, user_id: str) -> ReviewQuerySet:
        """Return a person's decisions to approve or to edit a version, without those that were taken back."""
        later = Review.objects.of_memory(OuterRef("store_id"), OuterRef("memory_id"))  # type: ignore[arg-type]
        taken_back = later.filter(
            version_id=OuterRef("version_id"), decision=Decision.REOPENED, seq__gt=OuterRef("seq")
        )
        found = self.filter(by_id=user_id, decision__in=(Decision.APPROVED, Decision.EDITED))
        return found.exclude(Exists(taken_back))


class Review(RowOfStore):
    """One decision about one memory version, recorded by the audit entry `seq`. It never changes.

    A flag is a decision about the whole memory; its `version` is the version that was newest when the memory was
    flagged.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    version = within_store("memoryhub.MemoryVersion")
    seq = models.BigIntegerField()
    decision = models.CharField(max_length=9, choices=Decision.choices)
    note = models.TextField(default="", blank=True)
    by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    at = models.DateTimeField()

    objects = ReviewQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["store", "memory", "seq"], name="review_of_memory"),
            models.Index(fields=["store", "seq"], name="review_by_entry"),
            models.Index(fields=["store", "id"], name="review_by_time"),
            models.Index(fields=["store", "by", "seq"], name="review_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.decision} {self.version_id}"


CLAIM = timedelta(minutes=5)
"""How long a claim lasts. A claim that has more than twice this time left was made while the clock was ahead, and
counts as expired."""


class ClaimQuerySet(models.QuerySet["Claim"]):
    def open(self, at: datetime) -> ClaimQuerySet:
        """Return the claims that are valid at a moment."""
        return self.filter(expires_at__gt=at, expires_at__lte=at + 2 * CLAIM)

    def over(self, at: datetime) -> ClaimQuerySet:
        """Return the claims that are not valid at a moment: those that have expired, and those that were made while the
        clock was wrong."""
        return self.filter(Q(expires_at__lte=at) | Q(expires_at__gt=at + 2 * CLAIM))


class Claim(RowOfStore):
    """A mark that a person is now reviewing the unreviewed versions of a memory. It expires, and is not audited."""

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    by = models.ForeignKey(User, models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()

    objects = ClaimQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "memory"], name="claim_once")]


class Viewed(RowOfStore):
    """A person's mark that they have viewed a memory as it was after the version with the id `version`.

    The mark does not apply to newer versions, and is not audited.
    """

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    by = models.ForeignKey(User, models.CASCADE, related_name="+")
    version = IdField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "memory", "by"], name="viewed_once")]

    def __str__(self) -> str:
        return f"{self.memory_id} by {self.by_id}"


class Assignment(RowOfStore):
    """The assignment of a memory's review to a person. It ends when no version of the memory awaits review any more.

    `ended_by` is the seq of the decision that ended the assignment. If that decision is undone, the assignment is in
    force again.
    """

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory")
    to = models.ForeignKey(User, models.CASCADE, db_index=False, related_name="+")
    at = models.DateTimeField()
    ended_by = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "memory"], name="assigned_once")]
        indexes = [models.Index(fields=["to", "store", "memory"], name="assigned_to")]

    def __str__(self) -> str:
        return f"{self.memory_id} to {self.to_id}"
