"""Merged proposals whose merge was undone: who undid it, and when."""

from collections.abc import Sequence

from memoryhub.models import MemoryStore, Proposal, ProposalState
from memoryhub.web.common.versions import undone
from memoryhub.web.common.versions.undone import Undone

MERGED = (ProposalState.MERGED, ProposalState.PARTLY_MERGED)


def undone_of(store: MemoryStore, proposals: Sequence[Proposal]) -> dict[str, Undone]:
    """Return {proposal id: the undo of its merge} for those of the proposals whose merge was undone."""
    merged = {one.seq: one.pk for one in proposals if one.seq is not None and one.state in MERGED}
    return {merged[seq]: one for seq, one in undone.undone_of(store, list(merged)).items()}
