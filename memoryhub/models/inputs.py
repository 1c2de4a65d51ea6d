"""The inputs of audit entries. A text that is also in the version that the entry made is read from the version, and not
stored twice."""

from typing import Any

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Substr
from django.db.models.lookups import Exact
from django.db.models.sql.compiler import SQLCompiler

from memoryhub.pure.text import kept_once

_SELECTED = """case when substr({entry}."input", 1, 1) = '@' then {entry}."input" || '\n' ||
 (select kept_text.content from memoryhub_memoryversion kept_version
 join memoryhub_memorytext kept_text on kept_text.store_id = kept_version.store_id
 and kept_text.id = kept_version.text_id
 where kept_version.store_id = {entry}."chain" and kept_version.id = {entry}."version")
 else {entry}."input" end"""
"""The SQL contains MARK and BREAK of `kept_once`. It is not in `actions.core.sql`, because Django asks the field for
it."""


def selected(entry: str) -> str:
    """Return the SQL that selects an input together with the values from which `InputField` completes it.

    `entry` is the alias of the table of audit entries in the query.
    """
    return _SELECTED.replace("{entry}", entry)


class InputField(models.TextField):  # type: ignore[type-arg]
    """The whole input of an entry, as ASCII-escaped JSON.

    The stored value may lack a text, which a query adds from the entry's version. If that text was removed, the input
    is None. Conditions on the column apply to the stored value; see `actions.core.audit.own_texts`.
    """

    def select_format(self, compiler: SQLCompiler, sql: str, params: Any) -> tuple[str, Any]:
        """Return the SQL with which Django selects the column."""
        entry, _, column = sql.rpartition(".")
        return (selected(entry), params) if column == '"input"' else (sql, params)

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        return None if value is None else kept_once.whole(value)


def lacks_text() -> Q:
    """Return the condition that the stored input of an entry lacks a text that the entry's version has."""
    return Q(Exact(Substr("input", 1, 1), Value(kept_once.MARK)))
