"""Writes JSON values as ASCII text without spaces. Unpaired surrogates and NUL stay escaped."""

import json
from collections.abc import Callable
from json import encoder
from typing import Any


def writer(*, sort_keys: bool = False) -> Callable[[Any], str]:
    """Return a function that encodes a JSON value. The value must not contain itself.

    For small values, the function is faster than `JSONEncoder.encode`, which builds a new encoder for each value.
    """
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(separators=(",", ":"), sort_keys=sort_keys, check_circular=False).encode
    encode = make(None, _refuse, encoder.encode_basestring_ascii, None, ":", ",", sort_keys, False, True)
    join = "".join
    return lambda value: join(encode(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
