"""Strict JSON. A text that two parsers could read as different values is refused."""

import json
import math
import re
from itertools import accumulate
from typing import Any

MAX_DEPTH = 64
MAX_DIGITS = 1_000
MOST_OUTSIDE = 262_144
"""The most bytes of a request outside of its strings. A list of empty lists takes a hundred times as long to read as a
string of the same length, and other requests wait for it."""
MOST_VALUES = 16_384
"""The most commas, lists and objects of a request, which are about as many as its values. Nested lists take thirty
times as long to mask, compare and store as to read, and keys of objects five times."""

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string in JSON. A string without its end extends to the end of the text; otherwise each quote in it would be tried
as a beginning."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BEGINS = b"[", b"{", b","
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_DOUBTFUL_CHARACTER = re.compile("[\0\ud800-\udfff]")


class Malformed(ValueError):
    """The bytes are not JSON that the hub accepts; the message says why."""


def loads(body: bytes, *, is_request: bool = False) -> Any:
    """Return the value of a JSON text in UTF-8. Raises Malformed.

    A byte order mark, duplicate keys, NaN and Infinity, numbers that overflow, integers of more than MAX_DIGITS digits,
    and nesting deeper than MAX_DEPTH are refused. With `is_request`, the limits MOST_OUTSIDE and MOST_VALUES apply
    too. Escaped NULs and surrogates are accepted: see `doubtful`.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise Malformed("The body starts with a byte order mark.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not UTF-8: byte {error.start} is not valid.") from None
    if is_request and len(body) > MOST_OUTSIDE and len(_STRING.sub(b"", body)) > MOST_OUTSIDE:
        raise Malformed(f"The body has more than {MOST_OUTSIDE:,} bytes outside of strings.")
    if is_request and _begun(body) > MOST_VALUES and _begun(_STRING.sub(b"", body)) > MOST_VALUES:
        raise Malformed(f"The body has more than {MOST_VALUES:,} values.")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _require_shallow(_STRING.sub(b"", body).translate(None, _NO_BRACKETS))
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"The body is not JSON: {error.msg} at line {error.lineno} column {error.colno}.") from None


def may_be_doubtful(body: bytes) -> bool:
    """Return whether `doubtful` could be true for the value of these bytes. This test is quick; `doubtful` is slow."""
    return b"\\u" in body and bool(_DOUBTFUL_ESCAPE.search(body.decode("utf-8", "replace")))


def doubtful(value: Any) -> bool:
    """Return whether a string in a value (keys included) has an unpaired surrogate or a NUL."""
    if isinstance(value, str):
        return bool(_DOUBTFUL_CHARACTER.search(value))
    if isinstance(value, dict):
        return any(doubtful(key) or doubtful(item) for key, item in value.items())
    return isinstance(value, list) and any(map(doubtful, value))


def _begun(text: bytes) -> int:
    """Return how many characters of a text would begin a list, an object or a further value outside of strings."""
    return sum(map(text.count, _BEGINS))


def _require_shallow(brackets: bytes) -> None:
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH:
        raise Malformed(f"The body is nested deeper than {MAX_DEPTH} levels.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Malformed(f"The key {json.dumps(twice)} is repeated in one object.")
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Malformed("A number is too large.")
    return value


def _constant(name: str) -> Any:
    raise Malformed(f"{name} is not JSON.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
