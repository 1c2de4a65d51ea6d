"""Bulk inserts of hundreds of thousands of rows, only for benchmarks, which simulate years of use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, models, transaction

from memoryhub.database import planner

CHUNK = 5_000

Row = Sequence[Any]


class Bulk:
    """Rows waiting to be written, by model; their columns are in the model's order."""

    def __init__(self) -> None:
        self._waiting: dict[type[models.Model], list[Row]] = {}
        self._vendor = connection.vendor

    def add(self, model: type[models.Model], row: Row) -> None:
        """Add a row, to be written together with many others."""
        rows = self._waiting.setdefault(model, [])
        rows.append(row)
        if len(rows) >= CHUNK:
            self._write(model, rows)
            rows.clear()

    def flush(self) -> None:
        """Write the waiting rows."""
        for model, rows in self._waiting.items():
            self._write(model, rows)
        self._waiting.clear()

    def _write(self, model: type[models.Model], rows: list[Row]) -> None:
        if not rows:
            return
        table, columns = model._meta.db_table, ", ".join(f'"{name}"' for name in columns_of(model))
        driver = connection.connection
        if self._vendor == "sqlite":
            marks = ", ".join("?" * len(rows[0]))
            driver.executemany(f'insert into "{table}" ({columns}) values ({marks})', rows)  # noqa: S608
            return
        with driver.cursor() as cursor, cursor.copy(f'copy "{table}" ({columns}) from stdin') as copy:
            for row in rows:
                copy.write_row(row)


def columns_of(model: type[models.Model]) -> list[str]:
    """Return the columns of a model's rows, without a number that the database assigns."""
    fields = model._meta.concrete_fields
    return [field.column for field in fields if field.column and not isinstance(field, models.AutoField)]


@contextmanager
def loading(*tables: type[models.Model]) -> Iterator[None]:
    """Drop the indexes of these tables, run the block in one transaction, then create the indexes again.

    On SQLite, a power cut while the block runs can destroy the database. At the end PostgreSQL's tables are vacuumed
    and analysed, as PostgreSQL does by itself after many inserts. SQLite's tables are not analysed, because the hub
    never does that.
    """
    sqlite = connection.vendor == "sqlite"
    if sqlite:
        _pragmas("journal_mode=MEMORY", "synchronous=OFF", "cache_size=-1500000")
    try:
        with connection.schema_editor() as editor:
            for model in tables:
                for index in model._meta.indexes:
                    editor.remove_index(model, index)
        with transaction.atomic():
            yield
        with connection.schema_editor() as editor:
            for model in tables:
                for index in model._meta.indexes:
                    editor.add_index(model, index)
        planner.write_statistics(connection.alias)  # SQLite forgot the statistics of the indexes that were dropped
    finally:
        if sqlite:
            _pragmas("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536")
    if not sqlite:
        with connection.cursor() as cursor:
            cursor.execute("vacuum analyze")


def _pragmas(*pragmas: str) -> None:
    with connection.cursor() as cursor:
        for pragma in pragmas:
            cursor.execute(f"pragma {pragma}")
