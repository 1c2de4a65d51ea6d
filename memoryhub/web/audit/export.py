"""The audit as CSV or JSON, with the filters of the page. The export is audited before it is sent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub.actions.transfer.exporting.entries import export_audit as note_export
from memoryhub.actions.verification.signed import Signed
from memoryhub.models import AuditEntry, MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain
from memoryhub.pure.protocol.kinds import Kind, kind_of
from memoryhub.pure.statement import EntryRange, counted
from memoryhub.web.audit.answer import answers_of
from memoryhub.web.audit.filters import Filter, resolved
from memoryhub.web.audit.masking import Entries, not_curated
from memoryhub.web.audit.queries import Search, all_entries, heads
from memoryhub.web.audit.rows import chain_names, visible_chains
from memoryhub.web.common.filters import Malformed
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import FORMATS, attachment, download, session_names, written

COLUMNS = (
    "store", "chain", "seq", "at", "actor_kind", "actor", "label", "agent", "session_name", "session", "door",
    "command", "path", "new_path", "memory", "version_number", "version", "ok", "outcome", "error", "answer", "input",
    "duration_microseconds", "note", "token", "replay_of", "hash",
)  # fmt: skip


@require_POST
@signed_in
def export_audit(request: Request) -> HttpResponse:
    """Export the entries that match the filters of the page.

    The form field `format` is csv or json. With the field `signed`, the file is in a ZIP archive with the hub's
    signature.
    """
    form = request.POST.get("format", "csv")
    try:
        wanted = Filter.of(request.POST.dict(), person(request))
        target = resolved(
            wanted, visible_chains(person(request)), now=timezone.now(), zone=timezone.get_current_timezone()
        )
    except Malformed as malformed:
        return _refused(request, str(malformed))
    if form not in FORMATS:
        return _refused(request, _("The format of an export must be csv or json."))
    bounds = heads(target.chains)
    is_signed = request.POST.get("signed") == "1"
    doing = act(request)
    entry = note_export(target.chains, wanted.words, form, doing, signed=is_signed)
    masked = not_curated(person(request), list(bounds))
    records = _records(target.search, bounds, masked)
    if not is_signed:
        return download("audit", form, COLUMNS, records)
    entries = {chain_id: EntryRange() for chain_id in bounds}
    body = written(form, COLUMNS, counted(records, entries))
    times = "; ".join(_times(target.search))
    facts = [
        ("filter", wanted.words or "none"),
        *([("times of the filter", times)] if times else []),
        ("masked values", "yes" if masked else "no"),
    ]
    made = Signed(f"audit.{form}", body, entries, entry, doing, reverse("public_key"), facts)
    return attachment(made.archive(), "audit.zip", "application/zip")


def _times(search: Search) -> Iterator[str]:
    """Yield the exact times to which the filter limits the entries. They are recorded because words such as “this week”
    mean other times on another day."""
    for one, sign in ((search, ""), *((each, "not ") for each in search.excluded)):
        start, end = (moment and chain.moment(moment) for moment in (one.start, one.end))
        if start or end:
            yield sign + ", ".join([*([f"from {start} on"] if start else []), *([f"before {end}"] if end else [])])


def _refused(request: Request, sentence: str) -> HttpResponse:
    return render(request, "audit/export_refused.html", {"problem": sentence}, status=400)


def _records(search: Search, bounds: dict[str, int], masked: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of an export. In the chains `masked`, sensitive values are masked."""
    for entries in all_entries(search, bounds):
        whole = _whole(entries)
        seen = Entries(whole, masked)
        answers, names = answers_of(whole, seen), Names.of(whole)
        for entry in whole:
            entry.input = seen.json(entry, entry.input)
            yield _record(entry, answers.get((entry.chain, entry.seq)), names)


def _whole(entries: Iterable[AuditEntry]) -> list[AuditEntry]:
    """Return the entries with all their columns loaded; entries that have been removed since are left out."""
    order = [(entry.chain, entry.seq) for entry in entries]
    found: dict[tuple[str, int], AuditEntry] = {}
    for chain_id in {chain_id for chain_id, _seq in order}:
        seqs = [seq for other, seq in order if other == chain_id]
        found |= {(chain_id, entry.seq): entry for entry in AuditEntry.objects.of_chain(chain_id).of_seqs(seqs)}
    return [found[key] for key in order if key in found]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of objects that entries name by id: {id: name}; for versions {id: number}."""

    stores: Mapping[str, str]
    sessions: Mapping[str, str]
    versions: Mapping[str, int]

    @classmethod
    def of(cls, entries: Sequence[AuditEntry]) -> "Names":
        chains = {entry.chain for entry in entries}
        versions = {entry.version for entry in entries if entry.version}
        numbers = MemoryVersion.objects.filter(store_id__in=chains, pk__in=versions).values_list("pk", "number")
        return cls(chain_names(chains), session_names(entry.session for entry in entries), dict(numbers))


def _record(entry: AuditEntry, answer: str | None, names: Names) -> dict[str, Any]:
    """Return an entry as a record: `actor` is the key or the person, `agent` the agent that owns the key."""
    kind = kind_of(answer)
    same = {name: getattr(entry, name) for name in COLUMNS if hasattr(entry, name)}
    others = {
        "store": names.stores[entry.chain],
        "session_name": names.sessions.get(entry.session or ""),
        "version_number": names.versions.get(entry.version or ""),
        "at": chain.moment(entry.at),
        "actor": entry.actor_id,
        "agent": entry.author_id if entry.actor_kind == ActorKind.KEY else None,
        "outcome": "ok" if entry.ok else Kind.PROPOSED.value if kind == Kind.PROPOSED else "error",
        "error": None if entry.ok or kind == Kind.PROPOSED else kind.value,
        "answer": answer,
        "duration_microseconds": entry.duration,
    }
    values = same | others
    return {name: values[name] for name in COLUMNS}
