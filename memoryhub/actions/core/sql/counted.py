"""One statement that counts the rows of several queries of the ORM."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from memoryhub.actions.core.sql import Statement


def counted(queries: Iterable[QuerySet[Any, Any]]) -> tuple[Statement, tuple[object, ...]]:
    """Return the statement, and its values.

    Django takes several times as long to build such queries as a database to answer them. A caller that counts often
    keeps the statement, and gives other values in the place of those with which it was built.
    """
    parts = [query.query.sql_with_params() for query in queries]
    counts = ", ".join(f"(select count(*) from ({part}) counted)" for part, _ in parts)
    return Statement(f"select {counts}"), tuple(value for _, values in parts for value in values)
