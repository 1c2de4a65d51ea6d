"""What became of merged proposals: who undid the merge, and when."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryhub.actions.history.undone import undoing
from memoryhub.models import AuditEntry, MemoryStore, Proposal, ProposalState
from memoryhub.web.common import pages

MERGED = (ProposalState.MERGED, ProposalState.PARTLY_MERGED)


@dataclass(frozen=True, slots=True)
class Undone:
    """The entry that undid a merge, and in how many `of` its memories."""

    entry: AuditEntry
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of


def undone_of(store: MemoryStore, proposals: Sequence[Proposal]) -> dict[str, Undone]:
    """Return {id: what undid the merge} of those of these proposals of a store whose merge was undone."""
    merged = {one.seq: one.pk for one in proposals if one.seq is not None and one.state in MERGED}
    if not merged:
        return {}
    found = undoing(store.pk, list(merged))
    entries = pages.entries(store, *(one.seq for one in found.values()))
    return {
        merged[seq]: Undone(entries[one.seq], one.count, one.of) for seq, one in found.items() if one.seq in entries
    }
