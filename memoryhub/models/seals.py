"""Seals of governing rows: what each is to be, as the audit entry of the act says that changed it last."""

from __future__ import annotations

from typing import Any

from django.db import models

from memoryhub.models.fields import IdField


class SealQuerySet(models.QuerySet["Seal"]):
    def of_chain(self, chain: str) -> SealQuerySet:
        """Those that the entries of a chain tell."""
        return self.filter(chain=chain)

    def of_row(self, kind: str, row: str) -> SealQuerySet:
        return self.filter(kind=kind, row=row)

    def newest(self, **of: Any) -> dict[tuple[str, str], Seal]:
        """By kind and row, the newest of each row."""
        return {(seal.kind, seal.row): seal for seal in self.filter(**of).order_by("number").iterator(2000)}


class Seal(models.Model):
    """What one governing row became by the act of entry `seq` of `chain`; see `actions.core.seals`.

    `kind` is the row's table and `row` its key, `home` the chain in which it is at home, `number` counts the row's
    seals. `digest` is the commitment to the row (null: there is no such row any more), with `salt` as long as the seal
    is the row's newest. A row that `may_go` is of no use any more: the background work takes it away.
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
