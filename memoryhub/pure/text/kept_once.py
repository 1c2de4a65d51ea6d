"""Stores the input of a call without the text that is also stored in its memory version.

A mark says where the text was. JSON never begins with this mark, so an input that was stored whole is read as it is.
"""

import re

from memoryhub.pure import compact_json

MARK = "@"
BREAK = "\n"
"""The separator that a query puts between the stored input and the text of its version. ASCII-escaped JSON never
contains it."""
LEAST = 64
"""A text of fewer characters stays in the input: leaving it out would save too little."""

_STORED = re.compile(r"@([1-9][0-9]{0,9}):([^\n]*)\n", re.ASCII)
_KEY = '"file_text":'
"""In the input, this text is always a key, because the quotation marks within a string are escaped."""

_to_json = compact_json.writer()


def lean(input: str, text: str) -> str:
    """Return the JSON text of an input as it is stored: with a mark in place of the parameter `file_text` if that is
    exactly `text`."""
    if len(text) < LEAST or "\0" in text:
        return input
    at, quoted = input.find(_KEY) + len(_KEY), _to_json(text)
    if at < len(_KEY) or not input.startswith(quoted, at):
        return input
    return f"{MARK}{at}:{input[:at]}{input[at + len(quoted) :]}"


def whole(value: str) -> str:
    """Return the whole input of an entry.

    `value` is the stored input. If the input has a mark, `value` ends with BREAK and the text of the memory version.
    """
    stored = _STORED.match(value) if value.startswith(MARK) else None
    if stored is None:
        return value
    at, rest = int(stored[1]), stored[2]
    return rest[:at] + _to_json(value[stored.end() :]) + rest[at:]
