"""Governing rows. When one of them is changed, the change is noted until an audit entry seals the row.

Code that changes a row of a Sealed model must then write the audit entry of the act, in the same transaction. The entry
holds a seal of each changed row; see `actions.core.audit.seals`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)
Changed = tuple["type[Sealed]", str | None, str]
"""A row that was made, changed or deleted: its model, the store whose chain seals it (None: the hub's chain does), and
its primary key as text."""

_thread = threading.local()


def begin() -> None:
    """Start noting changed rows, at the start of an action's transaction."""
    _thread.changed = {}


def end() -> None:
    """Stop noting changed rows, at the end of an action's transaction, with or without a commit."""
    _thread.changed = None


def changed() -> dict[Changed, None]:
    """Return the rows that this transaction has changed and that no entry has sealed, as keys of a dict.

    The caller seals rows and deletes them from the dict.
    """
    found: dict[Changed, None] | None = getattr(_thread, "changed", None)
    return {} if found is None else found


def changes() -> int:
    """Return how often this thread has changed governing rows.

    If the number has grown, values that were read before are out of date.
    """
    return getattr(_thread, "changes", 0)


def _note(model: type[Sealed], rows: Iterable[tuple[str | None, object]]) -> None:
    _thread.changes = changes() + 1
    found = getattr(_thread, "changed", None)
    if found is not None:
        found.update(((model, store, str(key)), None) for store, key in rows)


class SealedQuerySet(models.QuerySet[Row]):
    """A query that notes the rows that it writes. `bulk_update` is covered, because it calls `update`."""

    def update(self, **values: Any) -> int:
        if not self.model.is_sealed_in(values):  # type: ignore[attr-defined]
            return super().update(**values)
        self._note_all()
        return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        self._note_all()
        return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Row], *arguments: Any, **options: Any) -> list[Row]:
        made: list[Row] = super().bulk_create(objs, *arguments, **options)
        _note(self.model, [row.place for row in made])  # type: ignore[arg-type, attr-defined]
        return made

    def _note_all(self) -> None:
        model: Any = self.model
        found = self.order_by().values_list(*filter(None, (model.HOME, "pk")))
        _note(model, [row if model.HOME else (None, *row) for row in found])


class Sealed(models.Model):
    """A model of governing rows: they say what people and agents may do, what is kept, or what was decided.

    `HOME` names the column with the store whose chain seals the row. Without such a column, or if its value is null,
    the hub's chain seals the row. `OUTSIDE` names the columns that no seal covers: {column: reason}. A column added
    later needs a default: a seal leaves out values that equal the default, so older seals stay valid.
    """

    HOME: ClassVar[str | None] = None
    OUTSIDE: ClassVar[dict[str, str]] = {}

    class Meta:
        abstract = True

    @classmethod
    def sealed_columns(cls) -> list[models.Field[Any, Any]]:
        """Return the columns that a seal covers."""
        return [field for field in cls._meta.concrete_fields if field.name not in cls.OUTSIDE]

    @classmethod
    def is_sealed_in(cls, names: Iterable[str]) -> bool:
        """Return whether a seal covers one of these columns."""
        return any(cls._meta.get_field(name.removesuffix("_id")).name not in cls.OUTSIDE for name in names)

    @property
    def place(self) -> tuple[str | None, object]:
        """Return (store, key): the store whose chain seals the row (None: the hub's chain seals it), and the row's
        primary key."""
        return (getattr(self, self.HOME) if self.HOME else None), self.pk

    def save_base(self, *arguments: Any, **options: Any) -> None:
        super().save_base(*arguments, **options)
        update_fields = options.get("update_fields")
        if update_fields is None or self.is_sealed_in(update_fields):
            _note(type(self), [self.place])

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        place = self.place
        gone = super().delete(*arguments, **options)
        _note(type(self), [place])
        return gone
