"""Cursors of lists: opaque positions of the next page, valid only with the filters they were made for."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

from memoryhub.machines.errors import Problem

PREFIX = "page_"
LONGEST = 4096

_DOUBTFUL = re.compile("[\0\ud800-\udfff]")
_canonical = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True, default=str).encode


def encode(kind: str, filters: Mapping[str, Any], key: Sequence[Any]) -> str:
    """Return the cursor for the items after one item. `kind` names the list, and `key` (JSON values) is the item's
    position in it."""
    text = _canonical([_digest(kind, filters), *key])
    return PREFIX + base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode(kind: str, filters: Mapping[str, Any], cursor: str | None, shape: Sequence[type]) -> list[Any] | None:
    """Return the `key` that was encoded in a cursor; None if `cursor` is None. `shape` are the types of the key's
    values.

    Raises Problem (400) for a wrong cursor, and for a cursor of another list or of other filters.
    """
    if cursor is None:
        return None
    found = _read(cursor)
    if not found or len(found) != len(shape) + 1:
        raise Problem.invalid("`page` is not a cursor of this list.")
    digest, *key = found
    if not all(type(value) is kind_of for value, kind_of in zip(key, shape, strict=True)):
        raise Problem.invalid("`page` is not a cursor of this list.")
    if digest != _digest(kind, filters):
        raise Problem.invalid("`page` belongs to other filters: send the filters of the first page.")
    return key


def moment(text: str) -> datetime:
    """Return the moment in `text`, a value of a cursor's key, in the form that `chain.moment` writes.

    Raises Problem (400) for any other text.
    """
    try:
        if text.endswith("Z"):
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    raise Problem.invalid("`page` is not a cursor of this list.")


def _read(cursor: str) -> list[Any] | None:
    """Return the values in a cursor; None if the text is no valid cursor."""
    text = cursor.removeprefix(PREFIX)
    if text == cursor or len(cursor) > LONGEST:
        return None
    try:
        value = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode("ascii"))
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(value, list) or any(map(_is_doubtful, value)):
        return None
    return value


def _is_doubtful(part: Any) -> bool:
    """Return whether a database could refuse a value: an integer beyond 64 bits or, on PostgreSQL, a text with a NUL or
    a surrogate."""
    if isinstance(part, str):
        return bool(_DOUBTFUL.search(part))
    return isinstance(part, int) and abs(part) >= 2**63


def _digest(kind: str, filters: Mapping[str, Any]) -> str:
    return blake2b(_canonical([kind, dict(filters)]).encode(), digest_size=9).hexdigest()
