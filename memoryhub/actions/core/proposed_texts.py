"""Removes the proposed texts that belong to versions which are removed.

A proposed text belongs to the version that it was to change, and to the version that it became.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.tree import Tree
from memoryhub.models import AuditEntry, MemoryVersion, Operation, Proposal, ProposedChange

MERGES = ("merge_proposal", "edit_and_merge_proposal")
"""The commands of the entries that merge a proposal."""

REMOVED = "[redacted]"
"""The content of a proposed change whose text was removed."""


def remove(store: Tree, memory: str, versions: Iterable[MemoryVersion]) -> set[int]:
    """Remove the proposed texts that belong to these `versions` of a memory, as the module describes.

    Also remove each imported proposed text of the memory if this hub does not have the version that the text was to
    change. Return the seqs of the calls that proposed the removed texts which became one of the `versions` in this hub.
    Call this function before the versions are changed, and write the act's entry after it.
    """
    versions = list(versions)
    bases, seqs = {version.pk for version in versions}, {version.seq for version in versions}
    proposed = ProposedChange.objects.of_memory(store.store, memory).with_text().exclude(content=REMOVED)
    changes = list(proposed.defer("content"))
    merged = _merged(store, seqs)
    became = [change for change in changes if change.proposal in merged]
    became += _created(store, [version for version in versions if version.operation == Operation.CREATED])
    bases |= _not_here(store, {change.base for change in changes if change.base})
    imported = [one for part in in_parts(version.pk for version in versions) for one in _imported(store, part)]
    _forget(store, [change for change in changes if change.base in bases] + became + imported)
    return {change.seq for change in became}


def _not_here(store: Tree, bases: set[str]) -> set[str]:
    parts = (MemoryVersion.objects.among(store.store, part).values_list("pk", flat=True) for part in in_parts(bases))
    return bases.difference(*parts)


def _imported(store: Tree, versions: Sequence[str]) -> Iterable[ProposedChange]:
    """Return the imported changes that became one of these versions in the other hub, before the import."""
    return ProposedChange.objects.filter(store_id=store.store, became__in=versions).with_text().defer("content")


def _merged(store: Tree, seqs: Iterable[int]) -> set[str]:
    """Return the ids of the proposals that the entries with these `seqs` merged."""
    found: set[str] = set()
    for part in in_parts(seqs):
        found.update(Proposal.objects.of_store(store.store).filter(seq__in=part).values_list("pk", flat=True))
        entries = AuditEntry.objects.of_chain(store.store).of_seqs(part).filter(command__in=MERGES, ok=True)
        for input in entries.values_list("input", flat=True):
            details = json.loads(input or "{}")
            if isinstance(details, dict) and isinstance(details.get("proposal"), str):
                found.add(details["proposal"])
    return found


def _created(store: Tree, versions: Sequence[MemoryVersion]) -> list[ProposedChange]:
    """Return the proposed changes of new memories that became one of the `versions`."""
    found: list[ProposedChange] = []
    for version in versions:
        merged = _merged(store, [version.seq])
        changes = ProposedChange.objects.filter(store_id=store.store, proposal__in=merged, memory=None).with_text()
        found += [change for change in changes if _is_of(change, version)]
    return found


def _is_of(change: ProposedChange, version: MemoryVersion) -> bool:
    """Return whether this version comes from the change: they have the same path or the same text."""
    content = change.content or ""
    return change.path == version.path or hashlib.sha256(content.encode()).hexdigest() == version.sha256


def _forget(store: Tree, changes: Iterable[ProposedChange]) -> None:
    for part in in_parts(sorted({change.pk for change in changes})):
        ProposedChange.objects.filter(store_id=store.store, pk__in=part).update(content=REMOVED)
