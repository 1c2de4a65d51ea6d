"""Texts as lines (only LF ends a line), and the tool's two edits of a text."""

import math
import re
from typing import NamedTuple

from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

CONTEXT = 2

_INTEGRAL = re.compile(r"[+-]?[0-9]{1,1000}")  # Python refuses to parse thousands of digits


class Edit(NamedTuple):
    """A text after an edit, and the first and last line (from 1) of the snippet that shows the change."""

    text: str
    first: int
    last: int


def count_lines(text: str) -> int:
    """Return the number of lines. A final LF starts no further line, and the empty text has no line."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def shown_lines(text: str) -> int:
    """Return the number of lines that a view shows.

    The empty text has one line. If a text ends with LF, the empty line after this LF counts too.
    """
    return text.count("\n") + 1


def integer(value: object) -> int | None:
    """Return the whole number that an int, float or string represents; None for anything else, also for a boolean."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    return int(value) if isinstance(value, str) and _INTEGRAL.fullmatch(value) else None


def replace(path: str, text: str, old: str, new: str) -> Edit:
    """Return the text with the only occurrence of `old` replaced. Raises ToolError if there is none, or more than
    one."""
    start = text.find(old)
    if start < 0:
        raise ToolError(results.not_verbatim(path, old))
    if text.find(old, start + len(old)) >= 0:
        raise ToolError(_many(text, old))
    edited = text[:start] + new + text[start + len(old) :]
    changed = text.count("\n", 0, start) + 1
    return Edit(edited, max(1, changed - CONTEXT), min(shown_lines(edited), changed + CONTEXT))


def _many(text: str, old: str) -> str:
    lines: list[int] = []
    line, counted, start = 1, 0, text.find(old)
    while start >= 0 and len(lines) <= results.MOST_LINES_NAMED:
        line += text.count("\n", counted, start)
        counted = start
        lines.append(line)
        start = text.find(old, start + len(old))
    return results.many_occurrences(old, lines[: results.MOST_LINES_NAMED], more=len(lines) > results.MOST_LINES_NAMED)


def insert(path: str, text: str, insert_line: object, insert_text: str) -> str:
    """Return the text with a line inserted after the line number `insert_line` (0: at the start).

    Raises ToolError for a number out of range. The inserted line, and the line before it, end with LF.
    """
    lines, line = count_lines(text), integer(insert_line)
    if line is None or not 0 <= line <= lines:
        raise ToolError(results.invalid_insert_line(insert_line, lines))
    if text and not text.endswith("\n"):
        text += "\n"
    at = len(text) - len(text.split("\n", line)[line])
    return f"{text[:at]}{insert_text.removesuffix(chr(10))}\n{text[at:]}"
