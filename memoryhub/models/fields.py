"""Column types that behave alike on SQLite and PostgreSQL."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


class PathField(models.TextField):  # type: ignore[type-arg]
    """A text that is compared by code point on both databases: with the collation ``C`` on PostgreSQL, by default on
    SQLite."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        parameters = super().db_parameters(connection)
        if connection.vendor == "postgresql":
            parameters["collation"] = "C"
        return parameters


class IdField(PathField):
    """An identifier made by `memoryhub.pure.ids`. It is stored as text, so that it is identical in the database, the
    API and addresses."""


class Literal(models.Value):
    """A string that is written into the SQL itself, and not passed as a parameter.

    SQLite uses a partial index only if a query repeats the condition of the index literally.
    """

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        return "'" + str(self.value).replace("'", "''").replace("%", "%%") + "'", ()


class PlainJSONField(models.TextField):  # type: ignore[type-arg]
    """JSON stored as ASCII-escaped text, so that both databases accept every character, even NUL and unpaired
    surrogates."""

    def from_db_value(self, value: str | None, *_: object) -> object:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: object) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    def to_python(self, value: object) -> object:
        return json.loads(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        return json.dumps(self.value_from_object(obj))
