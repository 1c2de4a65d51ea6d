"""Tables as CSV or JSON downloads, written row by row and safe to open in a spreadsheet."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, HttpResponseBadRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.actions.transfer.exporting.entries import export_table
from memoryhub.models import Session
from memoryhub.web.common.guards.access import act
from memoryhub.web.common.request import Request

Record = Mapping[str, Any]

TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
FORMATS = tuple(TYPES)
_PARTED = re.compile(r"[;\r\n](?= *[=+\-@＝＋－＠])")
"""A character at which a spreadsheet may split a cell (in many countries a semicolon), if the new cell would begin with
a formula."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def exported(
    request: Request,
    store_id: str | None,
    table: str,
    columns: Sequence[str],
    records: Iterable[Record],
    **details: str,
) -> HttpResponse:
    """Return a table as a download in the form's `format`. The download is audited first, with `details` in its
    entry."""
    form = request.POST.get("format", "csv")
    if form not in FORMATS:
        return HttpResponseBadRequest(
            _("The format of an export must be csv or json."), content_type="text/plain; charset=utf-8"
        )
    export_table(store_id, table, form, act(request), **details)
    return download(table, form, columns, records)


def download(name: str, form: str, columns: Sequence[str], records: Iterable[Record]) -> HttpResponse:
    """Return a table as a download in the format `form`, one of FORMATS. `name` begins the file name."""
    return attachment(written(form, columns, records), f"{name}.{form}", TYPES[form])


def written(form: str, columns: Sequence[str], records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the bytes of a table in one of FORMATS."""
    return as_csv(columns, records) if form == "csv" else as_json(records)


def attachment(body: Iterable[bytes], name: str, content_type: str) -> HttpResponse:
    """Return a streamed download. The current time is inserted into its file name, before the extension."""
    stem, _dot, ending = name.rpartition(".")
    response = StreamingHttpResponse(body, content_type=content_type)
    kept = f"{stem}-{timezone.now():%Y%m%d-%H%M%S}.{ending}"
    response.headers["Content-Disposition"] = f'attachment; filename="{kept}"'
    return response  # type: ignore[return-value]


def session_names(ids: Iterable[str | None]) -> dict[str, str]:
    """Return {session id: name of the session}, for a column of names beside the ids."""
    return dict(Session.objects.filter(pk__in={id for id in ids if id}).values_list("id", "name"))


class _Line:
    """A file for `csv` that returns each line instead of storing it."""

    def write(self, line: str) -> bytes:
        return line.encode("utf-8", "backslashreplace")


def as_csv(columns: Sequence[str], records: Iterable[Record]) -> Iterator[bytes]:
    """Yield lines of CSV in UTF-8, with a byte order mark by which spreadsheets recognise the encoding."""
    writer = csv.writer(_Line())
    yield b"\xef\xbb\xbf" + writer.writerow(columns)
    for record in records:
        yield writer.writerow([safe_cell(record[name]) for name in columns])


def safe_cell(value: object) -> str:
    """Return a cell's text, with an apostrophe before each part that a spreadsheet could read as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = _PARTED.sub(r"\g<0>'", str(value))
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def as_json(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield an array of objects, one per line, ASCII-escaped; JSON text from the database stays a string."""
    separator = b"[\n"
    for record in records:
        yield separator + json.dumps(record, ensure_ascii=True).encode()
        separator = b",\n"
    yield b"\n]\n" if separator == b",\n" else b"[]\n"
