"""Seals of governing rows: a commitment to each row as of the audit entry that last changed it."""

from __future__ import annotations

from typing import Any

from django.db import models

from memoryhub.models.fields import IdField


class SealQuerySet(models.QuerySet["Seal"]):
    def of_chain(self, chain: str) -> SealQuerySet:
        """Return the seals that are in the entries of a chain."""
        return self.filter(chain=chain)

    def newest(self, **of: Any) -> dict[tuple[str, str], Seal]:
        """Return {(kind, row): its newest seal}, among the seals that match the filter conditions `of`."""
        return {(seal.kind, seal.row): seal for seal in self.filter(**of).order_by("number").iterator(2000)}


class Seal(models.Model):
    """A commitment to a governing row as it was after the entry `seq` of `chain`.

    `kind` is the name of the row's model, and `row` the row's key. `home` is the chain of the store to which the row
    belongs, or the hub's chain. The seals of a row have the numbers 1, 2, 3, … (`number`). `digest` is the commitment
    (null: the row was deleted). `salt` is kept while this is the row's newest seal. With `may_go`, the row may be
    deleted without another seal.
    """

    chain = IdField()
    seq = models.BigIntegerField()
    home = IdField()
    kind = models.CharField(max_length=40)
    row = IdField()
    number = models.BigIntegerField()
    digest = models.TextField(null=True)
    may_go = models.BooleanField(default=False)
    salt = models.TextField(null=True)

    objects = SealQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "row", "number"], name="seal_once")]
        indexes = [
            models.Index(fields=["chain", "seq"], name="seal_by_entry"),
            models.Index(fields=["home", "kind", "number"], name="seal_of_home"),
        ]
