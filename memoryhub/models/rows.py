"""Base classes for the models of large tables. Django's statements about single rows then name the memory store too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import ForeignKey, QuerySet
from django.db.models.lookups import Exact


class RowOfStore(models.Model):
    """A row of a table that grows with the hub. `STORE` is the name of the column that has the row's memory store.

    Django's statements about one row also name that column in their conditions. They never change it: a row stays in
    its store.
    """

    STORE = "store_id"

    class Meta:
        abstract = True

    def _of_store(self) -> dict[str, str]:
        return {self.STORE: getattr(self, self.STORE)}

    def _do_update(self, base_qs: Any, using: Any, pk_val: Any, values: Any, *more: Any) -> Any:
        changed = [value for value in values if value[0].attname != self.STORE]
        return super()._do_update(base_qs.filter(**self._of_store()), using, pk_val, changed, *more)

    def refresh_from_db(
        self, using: str | None = None, fields: Iterable[str] | None = None, from_queryset: QuerySet[Any] | None = None
    ) -> None:
        """Reload the row, with its store in the query. Django also calls this to load deferred columns."""
        rows = type(self)._base_manager.using(using) if from_queryset is None else from_queryset
        super().refresh_from_db(using, fields, rows.filter(**self._of_store()))

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        return type(self)._base_manager.using(using).filter(**self._of_store(), pk=self.pk).delete()


class WithinStore(ForeignKey):  # type: ignore[type-arg]
    """A foreign key between rows of one store. A join, or a fetch of the referenced row, also compares the stores of
    the two rows."""

    def deconstruct(self) -> Any:
        """Return the field's definition for migrations, as a plain foreign key."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.ForeignKey", arguments, options

    def get_extra_restriction(self, alias: str | None, related_alias: str | None) -> Any:
        theirs: Any = self.related_model._meta.get_field("store")
        ours: Any = self.model._meta.get_field("store")
        return Exact(theirs.get_col(alias), ours.get_col(related_alias))

    def get_extra_descriptor_filter(self, instance: Any) -> dict[str, str]:
        return {"store_id": instance.store_id}


def within_store(to: str, **options: Any) -> Any:
    """Return a WithinStore field, without a database constraint.

    The actions keep the reference valid, and `verify_audit` checks it. To check a constraint, the database would need
    further indexes.
    """
    return WithinStore(
        to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+", **options
    )
