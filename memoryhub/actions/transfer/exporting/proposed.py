"""The proposals in an export, each with the texts that the agent saw, the decision, and the comments of people."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from memoryhub.actions.proposals.own import details_of, listed
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.actions.transfer.exporting.authors import name_of
from memoryhub.actions.transfer.exporting.comments import talks
from memoryhub.models import (
    Agent,
    AuditEntry,
    Memory,
    MemoryVersion,
    Operation,
    Proposal,
    ProposalState,
    ProposedChange,
)
from memoryhub.pure.transfer.bundle import (
    OUTCOMES,
    Author,
    BundledChange,
    BundledDecision,
    BundledOutcome,
    BundledProposal,
)

PART = 50
"""The most proposals that are read at once."""


def proposals(store_id: str, seq: int) -> Iterator[BundledProposal]:
    """Yield the proposals of a store, by number, as they were at the entry `seq`."""
    after = 0
    while found := list(Proposal.objects.of_store(store_id).filter(number__gt=after).order_by("number")[:PART]):
        after = found[-1].number
        names = dict(Agent.objects.filter(pk__in={one.agent for one in found}).values_list("pk", "name"))
        entries = AuditEntry.objects.of_chain(store_id).of_seqs({one.seq for one in found if one.seq})
        by_seq = {entry.seq: entry for entry in entries}
        for proposal in found:
            rows = list(ProposedChange.objects.of_proposal(proposal).filter(seq__lte=seq))
            if rows:
                entry = by_seq.get(proposal.seq or 0) if (proposal.seq or 0) <= seq else None
                yield _bundled(proposal, rows, names, entry, seq)


def _bundled(
    proposal: Proposal, rows: Sequence[ProposedChange], names: Mapping[str, str], entry: AuditEntry | None, seq: int
) -> BundledProposal:
    is_open = proposal.state == ProposalState.OPEN or (proposal.seq or 0) > seq
    outcomes = {} if is_open else _outcomes(proposal, rows, entry)
    return BundledProposal(
        _agent(proposal, names),
        proposal.opened_at,
        tuple(_changes(proposal.store_id, rows, outcomes)),
        proposal.number,
        None if is_open else _decision(proposal, entry),
        tuple(talks(proposal.store_id, proposal.pk, rows, seq)),
    )


def _agent(proposal: Proposal, names: Mapping[str, str]) -> Author:
    """Return the agent of a proposal; for an imported one, the agent that its source named."""
    if not proposal.agent and proposal.came_from:
        return Author("api_actor", proposal.came_from.agent, proposal.came_from.agent_name)
    return Author("api_actor", proposal.agent, names.get(proposal.agent, ""))


def _decision(proposal: Proposal, entry: AuditEntry | None) -> BundledDecision:
    elsewhere = proposal.came_from.decided_by if proposal.came_from else None
    by = name_of(entry) if elsewhere is None else elsewhere
    return BundledDecision(proposal.state, proposal.decided_at or proposal.opened_at, by, proposal.reason)


def _outcomes(
    proposal: Proposal, rows: Sequence[ProposedChange], entry: AuditEntry | None
) -> Mapping[str, BundledOutcome]:
    """Return {id of a change: its outcome}. If the entry of a merge lacks a detail, the outcome lacks it too."""
    details = details_of(entry)
    groups = by_memory(rows)
    is_refused = proposal.state == ProposalState.REFUSED
    of_memory = dict.fromkeys(groups, OUTCOMES[0]) if is_refused else {}
    if not is_refused:
        for outcome in OUTCOMES:
            of_memory |= dict.fromkeys(listed(details.get(outcome)), outcome)
    edited, made = listed(details.get("edited")), _made(proposal)
    whole, part = listed(details.get("replaced")), listed(details.get("replaced_in_part"))
    return {
        one.pk: BundledOutcome(
            of_memory.get(name),
            name in edited,
            "whole" if one.pk in whole else "part" if one.pk in part else None,
            one.became or _became(name, one, made, of_memory.get(name)),
        )
        for name, steps in groups.items()
        for one in steps
    }


def _made(proposal: Proposal) -> Sequence[MemoryVersion]:
    """Return the versions that the merge of a proposal made."""
    if proposal.seq is None or proposal.was_decided_elsewhere:
        return ()
    return list(MemoryVersion.objects.filter(store_id=proposal.store_id, seq=proposal.seq))


def _became(name: str, change: ProposedChange, made: Iterable[MemoryVersion], outcome: str | None) -> str | None:
    """Return the id of the version that the merge made from a change, or None."""
    if outcome not in OUTCOMES[1:]:
        return None
    if change.memory is not None:
        return next((one.pk for one in made if one.memory_id == name), None)
    return next((one.pk for one in made if one.operation == Operation.CREATED and one.path == change.path), None)


def _changes(
    store_id: str, rows: Sequence[ProposedChange], outcomes: Mapping[str, BundledOutcome]
) -> Iterator[BundledChange]:
    paths = dict(Memory.objects.among(store_id, {one.memory for one in rows if one.memory}).values_list("pk", "path"))
    bases = _texts(store_id, {one.base for one in rows if one.base})
    for one in rows:
        memory = None if one.memory is None else paths.get(one.memory) or one.path
        seen, outcome = bases.get(one.base or ""), outcomes.get(one.pk, BundledOutcome())
        yield BundledChange(
            one.path, memory, seen, one.content, one.new_path, one.deletes, one.memory, one.base, outcome
        )


def _texts(store_id: str, versions: Collection[str]) -> Mapping[str, str]:
    """Return {version: text}. Redacted versions are left out."""
    found = MemoryVersion.objects.among(store_id, versions).filter(redacted_at=None).select_related("text")
    return {one.pk: one.content for one in found if one.content is not None}
