"""Any table as CSV or JSON, row by row, harmless in a spreadsheet."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone

Record = Mapping[str, Any]

FORMATS = ("csv", "json")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def download(name: str, form: str, columns: Sequence[str], records: Iterable[Record]) -> HttpResponse:
    """A table for a person's disk, in one of FORMATS; `name` begins the name under which the browser keeps it."""
    if form == "csv":
        return attachment(as_csv(columns, records), f"{name}.csv", "text/csv; charset=utf-8")
    return attachment(as_json(records), f"{name}.json", "application/json")


def attachment(body: Iterable[bytes], name: str, content_type: str) -> HttpResponse:
    """What is kept and not shown; the moment is put before the last ending of its name."""
    stem, _, ending = name.rpartition(".")
    response = StreamingHttpResponse(body, content_type=content_type)
    kept = f"{stem}-{timezone.now():%Y%m%d-%H%M%S}.{ending}"
    response.headers["Content-Disposition"] = f'attachment; filename="{kept}"'
    return response  # type: ignore[return-value]


class _Line:
    """What `csv` writes to: it gives the line back."""

    def write(self, line: str) -> bytes:
        return line.encode("utf-8", "backslashreplace")


def as_csv(columns: Sequence[str], records: Iterable[Record]) -> Iterator[bytes]:
    """Lines of CSV in UTF-8, with a byte order mark so that spreadsheets read them as such."""
    writer = csv.writer(_Line())
    yield b"\xef\xbb\xbf" + writer.writerow(columns)
    for record in records:
        yield writer.writerow([safe_cell(record[name]) for name in columns])


def safe_cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands before what could begin one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def as_json(records: Iterable[Record]) -> Iterator[bytes]:
    """An array of objects, one a line, ASCII-escaped; what is JSON text in the hub is such a text."""
    separator = b"[\n"
    for record in records:
        yield separator + json.dumps(record, ensure_ascii=True).encode()
        separator = b",\n"
    yield b"\n]\n" if separator == b",\n" else b"[]\n"
