"""The audit as CSV or JSON, with the filters of the page, streamed after its own entry has been written."""

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub import chain
from memoryhub.actions.exports import export_audit as note_export
from memoryhub.models import AuditEntry
from memoryhub.models.audit import ActorKind
from memoryhub.web.audit_answer import answers_of
from memoryhub.web.audit_filters import Filter, Malformed, resolved
from memoryhub.web.audit_rows import visible_chains
from memoryhub.web.audit_search import Search, all_entries, heads
from memoryhub.web.door import by, person, signed_in

COLUMNS = (
    "chain", "seq", "at", "actor_kind", "actor", "label", "agent", "session", "door", "command", "path", "new_path",
    "memory", "version", "ok", "answer", "input", "duration_microseconds", "note", "token", "replay_of", "hash",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@require_POST
@signed_in
def export_audit(request: HttpRequest) -> HttpResponse:
    """The parameters are those of the page, with `format` csv or json."""
    form = request.POST.get("format", "csv")
    try:
        wanted = Filter.of(request.POST.dict())
        target = resolved(
            wanted, visible_chains(person(request)), now=timezone.now(), zone=timezone.get_current_timezone()
        )
    except Malformed as malformed:
        return _refused(request, str(malformed))
    if form not in _WRITERS:
        return _refused(request, _("An export is csv or json."))
    bounds = heads(target.chains)
    note_export(target.chains, wanted.words, form, **by(request))
    content_type, write = _WRITERS[form]
    response = StreamingHttpResponse(write(_records(target.search, bounds)), content_type=content_type)
    name = f"audit-{timezone.now():%Y%m%d-%H%M%S}.{form}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response  # type: ignore[return-value]


def _refused(request: HttpRequest, sentence: str) -> HttpResponse:
    return render(request, "audit/export_refused.html", {"problem": sentence}, status=400)


def _records(search: Search, bounds: dict[str, int]) -> Iterator[dict[str, Any]]:
    for entries in all_entries(search, bounds):
        whole = _whole(entries)
        answers = answers_of(whole)
        for entry in whole:
            yield _record(entry, answers.get((entry.chain, entry.seq)))


def _whole(entries: Iterable[AuditEntry]) -> list[AuditEntry]:
    """The same entries with their long columns."""
    order = [(entry.chain, entry.seq) for entry in entries]
    found: dict[tuple[str, int], AuditEntry] = {}
    for chain_id in {chain_id for chain_id, _seq in order}:
        seqs = [seq for other, seq in order if other == chain_id]
        found |= {(chain_id, entry.seq): entry for entry in AuditEntry.objects.of_chain(chain_id).of_seqs(seqs)}
    return [found[key] for key in order if key in found]


def _record(entry: AuditEntry, answer: str | None) -> dict[str, Any]:
    """An entry as the export has it: `actor` is the key or the person, `agent` the agent behind a key."""
    same = {name: getattr(entry, name) for name in COLUMNS if hasattr(entry, name)}
    others = {
        "at": chain.moment(entry.at),
        "actor": entry.actor_id,
        "agent": entry.author_id if entry.actor_kind == ActorKind.KEY else None,
        "answer": answer,
        "duration_microseconds": entry.duration,
    }
    values = same | others
    return {name: values[name] for name in COLUMNS}


class _Line:
    """What `csv` writes to: it gives the line back."""

    def write(self, line: str) -> bytes:
        return line.encode("utf-8", "backslashreplace")


def as_csv(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Lines of CSV in UTF-8, with a byte order mark so that spreadsheets read them as such."""
    writer = csv.writer(_Line())
    yield b"\xef\xbb\xbf" + writer.writerow(COLUMNS)
    for record in records:
        yield writer.writerow([safe_cell(record[name]) for name in COLUMNS])


def safe_cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands before what could begin one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def as_json(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """An array of objects, one a line, ASCII-escaped; `input` is the JSON text as it was stored."""
    separator = b"[\n"
    for record in records:
        yield separator + json.dumps(record, ensure_ascii=True).encode()
        separator = b",\n"
    yield b"\n]\n" if separator == b",\n" else b"[]\n"


_WRITERS = {"csv": ("text/csv; charset=utf-8", as_csv), "json": ("application/json", as_json)}
