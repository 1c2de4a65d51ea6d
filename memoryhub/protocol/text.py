"""Texts as lines that only LF ends, and the two edits of the tool."""

import math
import re
from dataclasses import dataclass

from memoryhub.protocol import results
from memoryhub.protocol.errors import ToolError

CONTEXT = 2

_INTEGRAL = re.compile(r"[+-]?[0-9]{1,1000}")  # Python refuses to read thousands of digits


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text, and the first and last line (from 1, inclusive) of the snippet that shows what changed."""

    text: str
    first: int
    last: int


def count_lines(text: str) -> int:
    """A final LF starts no line; the empty text has none."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def shown_lines(text: str) -> int:
    """The lines of a view: after a final LF it shows one more, empty; the empty text has one."""
    return text.count("\n") + 1


def integer(value: object) -> int | None:
    """A whole number, also as a float or in a string, but no boolean; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    return int(value) if isinstance(value, str) and _INTEGRAL.fullmatch(value) else None


def replace(path: str, text: str, old: str, new: str) -> Edit:
    """The text with the one place where `old` stands replaced; raises a ToolError where there is none or another."""
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
    """The text with other lines after line `insert_line`; it ends with LF then. Raises a ToolError out of range."""
    lines, line = count_lines(text), integer(insert_line)
    if line is None or not 0 <= line <= lines:
        raise ToolError(results.invalid_insert_line(insert_line, lines))
    if text and not text.endswith("\n"):
        text += "\n"
    at = len(text) - len(text.split("\n", line)[line])
    return f"{text[:at]}{insert_text.removesuffix(chr(10))}\n{text[at:]}"
