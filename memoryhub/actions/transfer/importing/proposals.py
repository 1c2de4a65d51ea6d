"""Writes the proposals of an import to a locked store.

People can still decide the open proposals. The decided ones are kept only as history.
"""

from collections.abc import Sequence
from typing import Any

from memoryhub.actions.core import audit, plans, proposing, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.actions.transfer.importing import comments as import_comments
from memoryhub.actions.transfer.importing.places import Here, Named, clamped, kept_text
from memoryhub.actions.transfer.importing.preview import ABOUT, is_decided, require_path
from memoryhub.models import Agent, Import, ImportItem, Proposal, ProposalOrigin, ProposalState, ProposedChange
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import OUTCOMES, BundledChange, BundledProposal

MERGED = (ProposalState.MERGED, ProposalState.PARTLY_MERGED)
MOST_PASSED = 10_000
"""The most numbers that may be skipped so that an imported proposal keeps the number that it had at its source."""


def history_of(proposal: BundledProposal, place: str, named: Named) -> list[dict[str, Any]]:
    """Return a proposal in the form in which `ImportItem.history` stores it."""
    changes = [_history_of_change(change, place, named) for change in proposal.changes]
    decision = proposal.decision
    changes[0][ABOUT] = {
        "at": chain.moment(proposal.opened_at),
        "number": proposal.number,
        "agent": kept_text(proposal.agent.label),
        "decision": decision
        and [decision.state, chain.moment(decision.at), kept_text(decision.by), kept_text(decision.reason)],
        "talks": import_comments.told_of_proposal(proposal.talks, named),
    }
    return changes


def _history_of_change(change: BundledChange, place: str, named: Named) -> dict[str, Any]:
    moved = {name: place + path if path is not None else None for name, path in (
        ("path", change.path), ("memory", change.memory), ("new_path", change.new_path),
    )}  # fmt: skip
    outcome = change.outcome
    return {
        **moved,
        "base": change.base,
        "content": change.content,
        "deletes": change.deletes,
        "item": named.memory(change.memory_id),
        "base_at": named.version(change.base_id),
        "became_at": named.version(outcome.became),
        "outcome": outcome.outcome,
        "edited": outcome.edited,
        "replaced": outcome.replaced,
    }


def brought(store: Tree, job: Import, item: ImportItem) -> Record:
    """Write the proposal of an item with its comments; return the record of its entry. Raises ToolError."""
    proposing.require_size([], [Wanted(None, change["path"], change["content"]) for change in item.history])
    write = _decided if is_decided(item) else _opened
    return write(store, job, item, Here(store, job))


def _details(job: Import, item: ImportItem, proposal: Proposal, comments: int) -> dict[str, object]:
    details = {"import": job.pk, "number": proposal.number, "proposal": proposal.pk, "item": item.number}
    return details | ({"comments": comments} if comments else {})


def _origin(store: Tree, job: Import, item: ImportItem, decided_by: str | None = None) -> ProposalOrigin:
    by = None if decided_by is None else store.ruling.masked(decided_by)
    return ProposalOrigin(job.pk, item.memory or "", store.ruling.masked(item.history[0][ABOUT]["agent"]), by)


def _number(store: Tree, item: ImportItem) -> int:
    """Return the number of a new proposal: the number at the source, or else the next number.

    The number at the source is taken only if it is above the highest number here by at most MOST_PASSED.
    """
    last, number = proposing.last_number(store.store), item.history[0][ABOUT]["number"]
    return number if number is not None and last < number <= last + MOST_PASSED else last + 1


# ------------------------------------------------------------------------------------------------ open ones


def _opened(store: Tree, job: Import, item: ImportItem, here: Here) -> Record:
    """Open a proposal of the source in this store. It belongs to the same agent if this hub has that agent."""
    agent = item.memory if Agent.objects.filter(pk=item.memory).exists() else ""
    changes = [_wanted(store, change, here) for change in item.history]
    proposal = proposing.opened(
        store, key="", agent=agent or "", session=None, number=_number(store, item),
        at=clamped(store, item.history[0][ABOUT]["at"]), origin=_origin(store, job, item),
    )  # fmt: skip
    rows = [proposing.row(store, proposal, number, *change) for number, change in enumerate(changes, 1)]
    ProposedChange.objects.bulk_create(rows)
    comments = import_comments.write_of_proposal(store, proposal, item.history[0][ABOUT]["talks"], rows, here)
    return Record("import_proposal", input=audit.to_json(_details(job, item, proposal, comments)))


def _wanted(store: Tree, told: dict[str, Any], here: Here) -> tuple[Wanted, str | None]:
    """Return the change that `told` describes, and the id of the version that the agent saw (or None).

    Raises ToolError if the change is not possible in this store.
    """
    for path in filter(None, (told["path"], told["memory"], told["new_path"])):
        require_path(path)
    memory = base = None
    if told["memory"] is not None:
        memory = tree.memory_by_id(store, here.memory(told["item"], told["memory"]) or "")
        if memory is None:
            raise ToolError(f"The memory {told['memory']} is not in this memory store.")
        base = here.version(told["base_at"], memory.id) or here.with_text(memory.id, told["base"], memory.path)
        if base is None:
            raise ToolError(f"The text of {memory.path} that the agent saw is not in this memory store.")
    change = Wanted(memory, told["path"], _screened(store, told), told["new_path"], told["deletes"])
    proposing.require_possible(store, change)
    return change, base


def _screened(store: Tree, told: dict[str, Any]) -> str | None:
    """Return the proposed text, masked by the store's rules; None if the change has no new text.

    Raises ToolError if the rules block it.
    """
    content: str | None = told["content"]
    return None if content is None else findings.screen(store, told["path"], None, content).text


# ------------------------------------------------------------------------------------------------ decided ones


def _decided(store: Tree, job: Import, item: ImportItem, here: Here) -> Record:
    """Write a proposal with its decision.

    No agent of this hub owns the proposal, and no person of this hub is recorded as the one who decided.
    """
    about = item.history[0][ABOUT]
    state, at, by, reason = about["decision"]
    opened_at = clamped(store, about["at"])
    proposal = Proposal.objects.create(  # type: ignore[misc]
        id=ids.new_id(ids.PROPOSAL, opened_at),
        store_id=store.store,
        number=_number(store, item),
        state=state,
        key="",
        agent="",
        opened_at=opened_at,
        changed_at=opened_at,
        decided_at=clamped(store, at),
        seq=store.seq,
        reason=store.ruling.masked(reason),
        origin=_origin(store, job, item, by),
    )
    missing: dict[object, str] = {}
    rows = [_row(store, proposal, number, change, here, missing) for number, change in enumerate(item.history, 1)]
    ProposedChange.objects.bulk_create(rows)
    comments = import_comments.write_of_proposal(store, proposal, about["talks"], rows, here)
    details = _details(job, item, proposal, comments) | {"state": state}
    if state in MERGED:
        details |= _outcomes(rows, item.history)
    return Record("import_decision", input=audit.to_json(details))


def _row(
    store: Tree, proposal: Proposal, number: int, told: dict[str, Any], here: Here, missing: dict[object, str]
) -> ProposedChange:
    """Return the row of a change.

    A memory or text that is not in the store gets a new id (stored in `missing`), as if it had been removed.
    """
    for path in filter(None, (told["path"], told["new_path"])):
        require_path(path)
    content = _screened(store, told)
    memory = base = None
    if told["memory"] is not None:
        memory = here.memory(told["item"], told["memory"])
        base = here.version(told["base_at"], memory) or here.with_text(memory, told["base"], told["path"])
        memory = memory or missing.setdefault((told["item"], told["memory"]), ids.new_id(ids.MEMORY, store.at))
        base = base or missing.setdefault((memory, told["base"]), ids.new_id(ids.MEMORY_VERSION, store.at))
    return ProposedChange(
        id=ids.new_id(ids.PROPOSED_CHANGE, store.at),
        store_id=store.store,
        proposal=proposal.pk,
        number=number,
        seq=store.seq,
        memory=memory,
        base=base,
        path=told["path"],
        new_path=told["new_path"],
        content=content,
        deletes=told["deletes"],
        became=_became(told, memory, here) if told["outcome"] in OUTCOMES[1:] else None,
    )


def _became(told: dict[str, Any], memory: str | None, here: Here) -> str | None:
    """Return the id, in this store, of the version that a merged change made at the source.

    If this version was not imported, return the id of the newest version with the same text, or None.
    """
    memory = memory or here.memory(None, told["path"])
    return here.version(told["became_at"]) or here.with_text(memory, told["content"], told["path"])


def _outcomes(rows: Sequence[ProposedChange], history: Sequence[dict[str, Any]]) -> dict[str, object]:
    """Return the outcome of the changes, as the entry of a decision lists it."""
    of_change = {row.pk: told for row, told in zip(rows, history, strict=True)}
    of_memory = {name: of_change[steps[0].pk] for name, steps in by_memory(rows).items()}
    lists = {
        "merged": [name for name, told in of_memory.items() if told["outcome"] in OUTCOMES[1:]],
        "refused": [name for name, told in of_memory.items() if told["outcome"] == "refused"],
        "merged_in_part": [name for name, told in of_memory.items() if told["outcome"] == "merged_in_part"],
        "edited": [name for name, told in of_memory.items() if told["edited"]],
        "replaced": [pk for pk, told in of_change.items() if told["replaced"] == "whole"],
        "replaced_in_part": [pk for pk, told in of_change.items() if told["replaced"] == "part"],
    }
    return {name: plans.named_ids(found) for name, found in lists.items() if found or name in ("merged", "refused")}
