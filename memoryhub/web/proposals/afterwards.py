"""Merged proposals whose merge was undone: who undid it, and when."""

from collections.abc import Sequence

from memoryhub.actions.history.undone import undoing
from memoryhub.models import MemoryStore, Proposal, ProposalState
from memoryhub.web.common import pages
from memoryhub.web.common.versions.undone import Undone

MERGED = (ProposalState.MERGED, ProposalState.PARTLY_MERGED)


def undone_of(store: MemoryStore, proposals: Sequence[Proposal]) -> dict[str, Undone]:
    """Return {id: the undo of the merge} for those of these proposals whose merge was undone."""
    merged = {one.seq: one.pk for one in proposals if one.seq is not None and one.state in MERGED}
    if not merged:
        return {}
    found = undoing(store.pk, list(merged))
    entries = pages.entries(store, *(one.seq for one in found.values()))
    return {
        merged[seq]: Undone(entries[one.seq], one.count, one.of) for seq, one in found.items() if one.seq in entries
    }
