"""One statement that counts the rows of several queries of the ORM."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from memoryhub.actions.core.sql import Statement


def counted(queries: Iterable[QuerySet[Any, Any]]) -> tuple[Statement, tuple[object, ...]]:
    """Return the statement that counts the rows of each of the `queries`, and the values for its placeholders.

    Django takes several times as long to build this statement as a database to run it. A caller that counts often keeps
    the statement, and runs it again with other values.
    """
    parts = [query.query.sql_with_params() for query in queries]
    counts = ", ".join(f"(select count(*) from ({part}) counted)" for part, _ in parts)
    return Statement(f"select {counts}"), tuple(value for _, values in parts for value in values)
