"""The first rows of the inbox: versions and proposals about memories with open findings, the worst kinds first."""

from collections.abc import Iterable, Iterator, Sequence

from django.db.models import OuterRef, Subquery

from memoryhub.models import AuditEntry, Finding, Memory, MemoryStore, MemoryVersion
from memoryhub.web.common.texts.kinds import SEVERITY, group_of
from memoryhub.web.review.filters import Wanted
from memoryhub.web.review.proposed import Proposals
from memoryhub.web.review.queries import Row, matching, rows_of

MOST = 10
"""The most versions and proposals at the top of the inbox."""
MOST_STORES, MOST_FINDINGS = 10, 100
"""The most stores that are considered (those with the newest findings), and the most findings of each such store."""


def worst(wanted: Wanted, proposals: Proposals) -> list[Row]:
    """Return the versions and proposals that come first in the inbox."""
    if wanted.memory is not None:
        return []
    stores = _stores(sorted({*wanted.stores, *proposals.stores}))
    found = [row for store in stores for row in _of_store(wanted, store, proposals)]
    return [row for _severity, row in sorted(found, key=lambda each: (each[0], each[1].at, each[1].id))][:MOST]


def _stores(stores: Sequence[str]) -> list[str]:
    newest = Finding.objects.filter(store_id=OuterRef("pk")).open().newest().values("id")[:1]
    known = MemoryStore.objects.filter(pk__in=stores).annotate(newest=Subquery(newest)).filter(newest__isnull=False)
    return list(known.order_by("-newest").values_list("pk", flat=True)[:MOST_STORES])


def _of_store(wanted: Wanted, store: str, proposals: Proposals) -> Iterator[tuple[int, Row]]:
    """Yield (severity, row) for the memories with open findings: first the proposals that change such a memory, then
    the newest version of each such memory if it awaits review."""
    findings = Finding.objects.of_store(store).open().newest().values_list("memory_id", "kind")[:MOST_FINDINGS]
    severity: dict[str, int] = {}
    for memory, kind in findings:
        rank = SEVERITY.index(group_of(kind))
        severity[memory] = min(rank, severity.get(memory, rank))
    for proposal, memories in proposals.about(store, severity):
        yield min(severity[memory] for memory in memories & severity.keys()), proposal
    if store not in wanted.stores:
        return
    heads = list(Memory.objects.among(store, severity).values_list("head_id", flat=True))
    rows = rows_of(store, MemoryVersion.objects.among(store, heads).unreviewed())
    for row in _of_session(wanted, store, matching(wanted, store, rows)):
        yield severity[row.memory], row


def _of_session(wanted: Wanted, store: str, rows: Iterable[Row]) -> list[Row]:
    rows = list(rows)
    if wanted.session is None or not rows:
        return rows
    entries = AuditEntry.objects.of_chain(store).of_seqs({row.seq for row in rows}).filter(session=wanted.session)
    seqs = set(entries.values_list("seq", flat=True))
    return [row for row in rows if row.seq in seqs]
