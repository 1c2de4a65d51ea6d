"""Redactions of values, the commitments with which the audit can still be verified, and the receipts of erasures."""

from __future__ import annotations

from collections.abc import Collection

from django.db import models
from django.db.models import Q

from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.rows import RowOfStore


class RedactionQuerySet(models.QuerySet["Redaction"]):
    def of_chain(self, chain: str) -> RedactionQuerySet:
        return self.filter(chain=chain)

    def removed(self) -> RedactionQuerySet:
        """Return the redactions that replace removed versions."""
        return self.filter(number__isnull=False)

    def of_versions(self, store_id: str, ids: Collection[str]) -> RedactionQuerySet:
        return self.filter(chain=store_id, version__in=ids)

    def of_memories(self, store_id: str, ids: Collection[str]) -> RedactionQuerySet:
        return self.filter(chain=store_id, memory__in=ids)


class Redaction(RowOfStore):
    """One redaction of one value, recorded by the entry `seq`.

    `entry_seq` is the seq of the redacted entry or, if a version was redacted, of the entry that made the version.
    `field` is the redacted field of the entry (null: a version was redacted). `commitment` is made with `salt` and
    covers the value that is stored after the redaction. `salt` is null if no value is stored, or if the value was
    redacted again.

    A row with a `number` replaces the removed version with this number. The version was current up to the entry
    `superseded_seq`. `original` is the version's own commitment.
    """

    STORE = "chain"

    id = IdField(primary_key=True)
    chain = IdField()
    seq = models.BigIntegerField()
    entry_seq = models.BigIntegerField()
    field = models.CharField(max_length=10, null=True)
    version = IdField(null=True)
    memory = IdField(null=True)
    number = models.BigIntegerField(null=True)
    superseded_seq = models.BigIntegerField(null=True)
    original = models.TextField(null=True)
    salt = models.TextField(null=True)
    commitment = models.TextField()

    objects = RedactionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["chain", "seq", "id"], name="redaction_by_entry"),
            models.Index(fields=["chain", "entry_seq"], name="redaction_of_entry"),
            models.Index(
                fields=["chain", "memory", "number"], condition=Q(memory__isnull=False), name="redaction_of_memory"
            ),
            models.Index(fields=["chain", "version"], condition=Q(version__isnull=False), name="redaction_of_version"),
        ]


class Receipt(RowOfStore):
    """The receipt of an erasure: a signed text without personal data. It is for the person who asked for the
    erasure."""

    STORE = "store"

    id = IdField(primary_key=True)
    store = IdField()
    at = models.DateTimeField()
    content = PlainJSONField()
    signature = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["store", "id"], name="receipt_of_store")]
