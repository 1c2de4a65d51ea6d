"""Carries the dismissals of findings over to a copy of a memory store."""

from memoryhub.actions.core.tree import Tree
from memoryhub.models import Finding, FindingState, Import, ImportItem, Memory


def carry(store: Tree, job: Import, item: ImportItem, memory: str) -> None:
    """Dismiss a finding of a copied memory if a person dismissed the same finding in the source; record this person.

    Do nothing if the import is no copy of a memory store. Call it after the findings are recorded, and before the entry
    is written.
    """
    if not job.copied_from:
        return
    at_path = Memory.objects.filter(store=job.copied_from).at(item.path).values_list("pk", flat=True)
    source = item.memory or at_path.first() or ""
    judged = Finding.objects.of_memory(job.copied_from, source).filter(state=FindingState.DISMISSED)
    found = Finding.objects.of_memory(store.store, memory).open()
    for one in judged.filter(fingerprint__isnull=False):
        found.filter(kind=one.kind, fingerprint=one.fingerprint).update(
            state=FindingState.DISMISSED, note=one.note, decided_at=one.decided_at, decided_by_id=one.decided_by_id,
            decided_seq=store.seq,
        )  # fmt: skip
