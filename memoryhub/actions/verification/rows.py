"""Checks that rows are byte for byte as the hub writes them, and that versions match their commitments."""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar

from django.db import DatabaseError, DataError, connection, models
from django.db.models.functions import Cast

from memoryhub.actions.core.audit import to_json
from memoryhub.actions.verification import redactions
from memoryhub.models import MemoryText, MemoryVersion, Operation, Redaction
from memoryhub.pure import chain

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, DatabaseError)
"""The errors from reading a row that was changed into something that the hub never writes; see `reraise_refusal`."""

SALT = re.compile("[0-9a-f]{32}")
_JSON = {"salts", "commitments"}
_TIMES = {"at", "created_at", "redacted_at"}
_FLAGS = {"ok", "cut"}

Row = TypeVar("Row", bound=models.Model)


def reraise_refusal(error: Exception) -> None:
    """Raise `error` again if it is a DatabaseError that no stored value caused.

    Such an error says nothing about a row.
    """
    is_of_a_value = isinstance(error, DataError) or "Could not decode to UTF-8" in str(error)
    if isinstance(error, DatabaseError) and not is_of_a_value:
        raise error


@lru_cache
def _raw_columns(model: type[models.Model]) -> list[str]:
    """Return the columns in which different bytes can have the same value: JSON and, on SQLite, times and flags."""
    names = _JSON if connection.vendor == "postgresql" else {*_JSON, *_TIMES, *_FLAGS}
    return sorted(names & {field.name for field in model._meta.get_fields()})


def readable(model: type[Row]) -> models.QuerySet[Row]:
    """Return a query for a table's rows. Each row also has its columns of `_raw_columns` as text, named `raw_…`."""
    raw = {f"raw_{name}": Cast(name, models.TextField()) for name in _raw_columns(model)}
    found: models.QuerySet[Row] = models.QuerySet(model).annotate(**raw)
    return found


def written_as_read(row: models.Model) -> bool:
    return all(getattr(row, f"raw_{name}") == _as_written(name, getattr(row, name)) for name in _raw_columns(type(row)))


def _as_written(name: str, value: Any) -> str | None:
    """Return the text that the hub writes for a value of a column of `_raw_columns`; None if the column is empty."""
    if name in _JSON:
        return to_json(value)
    if value is None:
        return None
    return str(value.replace(tzinfo=None)) if name in _TIMES else str(int(value))


def content_of(version: MemoryVersion) -> str | None:
    """Return a version's text. None if it has none, or if the text's row is missing."""
    try:
        return version.text.content if version.text else None
    except MemoryText.DoesNotExist:
        return None


def content_problems(version: MemoryVersion, redaction: Redaction | None) -> Iterator[str]:
    """Yield a sentence for each problem of a version's path, text and redaction columns.

    `redaction` is the version's newest redaction, or None.
    """
    name = f"version {version.id}"
    if redaction is not None:
        yield from redactions.version_problems(version, redaction)
        if not written_as_read(version):
            yield f"{name} was changed"
        if version.text_id is not None or version.sha256 is not None:
            yield from _text(version, name)
        return
    if version.salt is None or not SALT.fullmatch(version.salt) or version.path is None:
        yield f"the content of {name} is missing without a redaction"
        return
    commitment = chain.version_commitment(
        version.salt,
        id=version.id,
        memory=version.memory_id,
        number=version.number,
        operation=version.operation,
        path=version.path,
        sha256=version.sha256,
        at=chain.moment(version.created_at),
        origin=version.origin,
    )
    if commitment != version.commitment or not written_as_read(version):
        yield f"{name} was changed"
    yield from _text(version, name)
    if any(mark is not None for mark in (version.redacted_at, version.redacted_by, version.redacted_seq)):
        yield f"{name} is marked as redacted, and no entry says so"


def _text(version: MemoryVersion, name: str) -> Iterator[str]:
    if version.operation == Operation.DELETED:
        if not (version.text_id is None and version.size is None and version.sha256 is None):
            yield f"{name} is of a deletion and has a text"
        return
    content = content_of(version)
    text = version.text
    if content is None or text is None or (text.store_id, text.memory_id) != (version.store_id, version.memory_id):
        yield f"the text of {name} is missing"
        return
    encoded = content.encode("utf-8", "surrogatepass")
    if len(encoded) != version.size or hashlib.sha256(encoded).hexdigest() != version.sha256:
        yield f"the text of {name} was changed"
