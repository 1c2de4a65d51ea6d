"""Changing rows behind the hub's back, byte by byte, and putting them back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, models, transaction


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one row, found by the raw values of its key."""

    model: type[models.Model]
    key: tuple[tuple[str, object], ...]
    column: str

    @property
    def _where(self) -> tuple[str, list[object]]:
        return " and ".join(f'"{name}" = %s' for name, _ in self.key), [value for _, value in self.key]

    @property
    def _table(self) -> str:
        return f'"{self.model._meta.db_table}"'

    @property
    def _is_binary(self) -> bool:
        fields = self.model._meta.concrete_fields
        return any(field.column == self.column and isinstance(field, models.BinaryField) for field in fields)

    def read(self) -> object:
        """The value as the driver gives it, on SQLite the bytes of a text; None where the row's key was changed."""
        where, values = self._where
        name = f'"{self.column}"'
        if connection.vendor == "sqlite":
            name = f"case typeof({name}) when 'text' then cast({name} as blob) else {name} end"
        with connection.cursor() as cursor:
            cursor.execute(f"select {name} from {self._table} where {where}", values)
            row = cursor.fetchone()
            return row[0] if row else None

    def write(self, value: object) -> None:
        """On SQLite bytes are written as a text of these bytes, valid or not, but into a column of bytes."""
        where, values = self._where
        place = "cast(%s as text)" if isinstance(value, bytes) and not self._is_binary else "%s"
        with connection.cursor() as cursor:
            cursor.execute(f'update {self._table} set "{self.column}" = {place} where {where}', [value, *values])


@contextmanager
def undone() -> Iterator[None]:
    """Everything inside is rolled back at its end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def cells(model: type[models.Model], **of: object) -> Iterator[Cell]:
    """Every cell of the rows with these values."""
    names = [field.column for field in model._meta.concrete_fields if field.column]
    key = [field.column for field in model._meta.pk_fields]
    for row in model._default_manager.filter(**of).order_by(*model._meta.ordering or key).values_list(*names):
        values = dict(zip(names, row, strict=True))
        for name in names:
            yield Cell(model, tuple((column, values[column]) for column in key), name)


def edited(cell: Cell, position: int, kind: int) -> bool:
    """Changes a cell at one place in one of several ways; whether it is another value now."""
    before = cell.read()
    after = _changed(before, position, kind)
    if after == before and type(after) is type(before):
        return False
    try:
        with transaction.atomic():
            cell.write(after)
    except DatabaseError:  # the database refuses such a value
        return False
    now = cell.read()
    return (type(now), now) != (type(before), before)


def _changed(value: object, position: int, kind: int) -> Any:
    if value is None:
        return (b"x" if connection.vendor == "sqlite" else "x") if kind % 2 else 1
    if kind % 11 == 10:
        return None
    if isinstance(value, int):
        return _changed_number(value, position, kind)
    if isinstance(value, datetime):
        return value + timedelta(microseconds=1 if kind % 2 else -(10**6))
    if isinstance(value, bytes):
        return _changed_bytes(value, position, kind)
    return _changed_text(str(value), position, kind)


def _changed_number(value: int, position: int, kind: int) -> int:
    if isinstance(value, bool):
        return not value
    return value ^ (1 << position % 8) if kind % 2 else -value - 1


def _changed_text(text: str, position: int, kind: int) -> str:
    """Another text that every database takes."""
    changed = _changed_bytes(text.encode(), position, kind).decode("utf-8", "replace")
    return changed.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _changed_bytes(value: bytes, position: int, kind: int) -> bytes:
    """Another byte, one bit, one byte fewer or one byte more."""
    if not value or kind % 4 == 3:
        return value + b" "
    place = position % len(value)
    before, byte, after = value[:place], value[place], value[place + 1 :]
    if kind % 4 == 0:
        return before + bytes([byte ^ (1 << position // len(value) % 7)]) + after
    if kind % 4 == 1:
        return before + after
    return before + bytes([byte, byte]) + after
