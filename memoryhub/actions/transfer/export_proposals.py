"""The open proposals of an export, each with the texts that the agent saw."""

from collections.abc import Iterator, Mapping

from django.db.models import Q

from memoryhub.models import Agent, Memory, MemoryVersion, Proposal, ProposalState, ProposedChange
from memoryhub.transfer.bundle import Author, BundledChange, BundledProposal


def open_proposals(store_id: str, seq: int) -> Iterator[BundledProposal]:
    """Yield the proposals that were open at an entry, oldest first, with the changes that they had then."""
    found = Proposal.objects.of_store(store_id).filter(Q(state=ProposalState.OPEN) | Q(seq__gt=seq)).order_by("number")
    names = dict(Agent.objects.filter(pk__in=found.values("agent")).values_list("pk", "name"))
    for proposal in found:
        rows = list(ProposedChange.objects.of_proposal(proposal).filter(seq__lte=seq))
        if rows:
            agent = Author("api_actor", proposal.agent, names.get(proposal.agent, ""))
            yield BundledProposal(agent, proposal.opened_at, tuple(_changes(store_id, rows)))


def _changes(store_id: str, rows: list[ProposedChange]) -> Iterator[BundledChange]:
    paths = dict(Memory.objects.among(store_id, {one.memory for one in rows if one.memory}).values_list("pk", "path"))
    bases = _texts(store_id, {one.base for one in rows if one.base})
    for one in rows:
        memory = None if one.memory is None else paths.get(one.memory) or one.path
        yield BundledChange(one.path, memory, bases.get(one.base or ""), one.content, one.new_path, one.deletes)


def _texts(store_id: str, versions: set[str]) -> Mapping[str, str]:
    """Return {version: text}. Redacted versions are left out."""
    found = MemoryVersion.objects.among(store_id, versions).filter(redacted_at=None).select_related("text")
    return {one.pk: one.content for one in found if one.content is not None}
