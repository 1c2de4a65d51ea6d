"""The results of a search as a table of lines, with a limited size.

Each memory store with results gets an audit entry before the download.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.transfer.exporting.entries import FOUND, export_table
from memoryhub.models import AuditEntry, MemoryStore
from memoryhub.pure.chain import moment
from memoryhub.pure.text.folding import found_lines
from memoryhub.pure.text.word_endings import texts_of
from memoryhub.web.audit.masking import not_curated
from memoryhub.web.common import pages
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import FORMATS, download
from memoryhub.web.common.texts import masking
from memoryhub.web.search.candidates import OLD
from memoryhub.web.search.filters import Query
from memoryhub.web.search.scan import Hit, Place, scan
from memoryhub.web.search.search import stores_of, wanted_of

COLUMNS = (
    "store", "path", "memory", "number", "is", "line", "text", "note", "changed_by", "changed_at", "entry", "url",
)  # fmt: skip
MOST_ROWS, SECONDS = 5_000, 5.0
MOST_LINES, LONGEST_LINE = 100, 2_000
"""The most lines of one version, and the most characters of a line."""

ExportRow = dict[str, Any]


@require_POST
@signed_in
def export_search(request: Request) -> HttpResponse:
    """Search with the filters of the page, and download the matching lines. The form field `format` is csv or json."""
    user, form = person(request), request.POST.get("format", "csv")
    try:
        query = Query.of(request.POST.dict(), user)
        stores = stores_of(user, query)
        wanted = replace(wanted_of(query, list(stores), user.pk), masked=not_curated(user, stores))
    except Malformed as malformed:
        return _refused(str(malformed))
    if form not in FORMATS or query.finds_everything:
        return _refused(_("The format of an export must be csv or json, and the search must not be empty."))
    rows: list[ExportRow] = []
    place, end, is_over, found = Place(), time.monotonic() + SECONDS, False, set()
    while not is_over and len(rows) < MOST_ROWS and time.monotonic() < end:
        part = scan(wanted, list(stores), place.on_a_new_page(), SECONDS)
        rows += _rows_of(part.hits, stores, texts_of(wanted.words))
        found |= {hit.row.store for hit in part.hits}
        place, is_over = part.place, part.ended
    if not is_over or len(rows) > MOST_ROWS:
        rows[MOST_ROWS:] = [
            dict.fromkeys(COLUMNS) | {"text": _("There are more results. Narrow the search to have all of them.")}
        ]
    try:
        for store in sorted(found):
            export_table(store, FOUND, form, act(request), filter=query.words)
    except NoSuchStore:
        raise Http404 from None
    return download("search", form, COLUMNS, rows)


def _refused(sentence: str) -> HttpResponse:
    return HttpResponseBadRequest(sentence, content_type="text/plain; charset=utf-8")


def _rows_of(hits: Sequence[Hit], stores: Mapping[str, MemoryStore], words: Sequence[str]) -> Iterator[ExportRow]:
    """Yield a row for each matching line, with sensitive values masked. A version that matches only by its path or its
    note has one row."""
    for store in {hit.row.store for hit in hits}:
        here = [hit for hit in hits if hit.row.store == store]
        entries = pages.entries(stores[store], *(hit.row.seq for hit in here))
        covers = masking.covers(store, {hit.row.memory for hit in here})
        for hit in here:
            text = masking.masked(hit.text or "", covers.get(hit.row.memory, masking.NOTHING))
            numbers, is_cut = found_lines(hit.text or "", words)
            lines = sorted({number for of_word in numbers for number in of_word})
            is_cut, lines = is_cut or len(lines) > MOST_LINES, lines[:MOST_LINES]
            whole, told = text.split("\n"), _export_row(hit, stores[store], entries.get(hit.row.seq))
            yield from (told | _line(number, whole, told["url"]) for number in lines)
            if not lines:
                yield told
            if is_cut:
                yield told | {"text": _("This memory has more such lines.")}


def _line(number: int, whole: Sequence[str], url: str) -> ExportRow:
    text = whole[number] if number < len(whole) else ""
    text = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"
    return {"line": number + 1, "text": text, "url": f"{url}#L{number + 1}"}


def _export_row(hit: Hit, store: MemoryStore, entry: AuditEntry | None) -> ExportRow:
    row = hit.row
    is_old = row.kind == OLD
    name, of = ("version", row.version) if is_old else ("memory", row.memory)
    return {
        "store": store.name,
        "path": row.path,
        "memory": row.memory,
        "number": row.number,
        "is": "old" if is_old else "trash" if row.in_trash else "current",
        "line": None,
        "text": None,
        "note": "\n".join(note.text for note in hit.notes) or None,
        "changed_by": entry and entry.label,
        "changed_at": moment(row.at),
        "entry": row.seq,
        "url": settings.MEMORYHUB_URL.rstrip("/") + reverse(name, args=[row.store, of]),
    }
