"""A person's decision about a proposal: merge it, merge a part of it, or refuse it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.comments import on_proposals
from memoryhub.actions.comments.on_proposals import Draft
from memoryhub.actions.core import audit, plans, proposing, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.plans import Change, Choice, PlanChanged
from memoryhub.actions.core.proposed_texts import MERGES
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.revert import NeedsChoice
from memoryhub.actions.history.undone import undoing
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.proposals.selected import WHOLE, Parts, selected
from memoryhub.models import Proposal, ProposalState

(MERGE, EDIT_AND_MERGE), REFUSE = MERGES, "refuse_proposal"
REOPEN = "reopen_proposal"


class AlreadyDecided(Exception):
    """Someone has already decided about the proposal, or has opened it again. `proposal` is its current row."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__("already decided")
        self.proposal = proposal


@dataclass(frozen=True, slots=True)
class Decided:
    """The result of a decision: the seq of its entry, the proposal's new state, and how many versions the merge
    made."""

    seq: int
    state: ProposalState
    versions: int


def merge(
    store_id: str,
    number: int,
    choices: Mapping[str, Choice],
    digest: str,
    act: Act,
    *,
    parts: Parts = WHOLE,
    drafts: Sequence[Draft] = (),
) -> Decided:
    """Merge a proposal by its plan, which must have this digest. A memory with the choice KEEP is not changed.

    `parts` has the person's changes to the proposed texts. `drafts` are comments to publish. If no change is
    merged, the proposal is refused. Raises ToolError if a change cannot be made. Also raises AlreadyDecided,
    PlanChanged, Proposal.DoesNotExist, and the errors of `on_proposals.publish`.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        proposal = _open(store_id, number)
        taken = selected(apply_plan.as_shown(proposal_plan(proposal), digest), choices, parts)
        refused = apply_plan.apply(store, taken.plan, taken.choices)
        merged = [change.memory for change in taken.plan.changes if change.memory not in refused]
        state = _state_after(merged, [*refused, *taken.cut])
        details: dict[str, object] = {
            "proposal": proposal.pk,
            "number": number,
            "agent": proposal.agent,
            "merged": plans.named_ids(merged),
            "refused": plans.named_ids(refused),
        }
        if taken.cut:
            details["merged_in_part"] = plans.named_ids(taken.cut)
        if taken.edited:
            details["edited"] = plans.named_ids(taken.edited)
        details |= _replaced(taken.plan.changes, merged)
        details |= on_proposals.publish(store, proposal, drafts)
        command = REFUSE if state == ProposalState.REFUSED else EDIT_AND_MERGE if taken.edited else MERGE
        close(proposal, state, store.seq, store.act)
        record = Record(command, versions=tuple(store.made), input=audit.to_json(details))
        return Decided(tree.commit(store, record), state, len(store.made))


def refuse(store_id: str, number: int, act: Act, *, seen: str, drafts: Sequence[Draft] = ()) -> Decided:
    """Refuse a proposal as a whole, and publish the comments `drafts`. The note of the act is the reason.

    `seen` is what `seen_of` returned for the proposal that the person saw. Raises ToolError if the store is archived.
    Also raises PlanChanged, AlreadyDecided, Proposal.DoesNotExist, and the errors of `on_proposals.publish`.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        proposal = _open(store_id, number)
        if seen != seen_of(proposal):
            raise PlanChanged(proposal_plan(proposal))
        close(proposal, ProposalState.REFUSED, store.seq, store.act)
        details = {"proposal": proposal.pk, "number": number, "agent": proposal.agent}
        details |= on_proposals.publish(store, proposal, drafts)
        return Decided(tree.commit(store, Record(REFUSE, input=audit.to_json(details))), ProposalState.REFUSED, 0)


def reopen(store_id: str, number: int, act: Act) -> int:
    """Open a refused proposal again, or a proposal whose merge has been undone completely. Return the entry's seq.

    Raises AlreadyDecided for any other proposal, and for one that was decided in another hub. Raises ToolError if too
    many proposals are open or the store is archived. Also raises Proposal.DoesNotExist.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        proposal = Proposal.objects.of_store(store_id).get(number=number)
        is_closed = proposal.state == ProposalState.REFUSED or _is_undone(proposal)
        if proposal.was_decided_elsewhere or not is_closed:
            raise AlreadyDecided(proposal)
        proposing.require_room(store, proposal.agent)
        proposal.state, proposal.seq, proposal.decided_at, proposal.reason = ProposalState.OPEN, None, None, ""
        proposal.save(update_fields=["state", "seq", "decided_at", "reason"])
        details = {"proposal": proposal.pk, "number": number, "agent": proposal.agent}
        return tree.commit(store, Record(REOPEN, input=audit.to_json(details)))


def take_back(store_id: str, seq: int, act: Act) -> int | None:
    """Take back the decision of entry `seq`: undo its merge, and open the proposal again.

    Return the seq of the new entry; None if the entry decided no proposal in this hub, or if its decision is no longer
    in force. Raises ToolError if the undo or the reopening is refused; NeedsChoice if a person has to choose first, for
    example because later changes overlap with the merge.
    """
    with writing():
        tree.lock(store_id, act)
        proposal = Proposal.objects.of_store(store_id).filter(seq=seq).exclude(state=ProposalState.WITHDRAWN).first()
        if proposal is not None and proposal.was_decided_elsewhere:
            return None
        if proposal is not None and proposal.state == ProposalState.REFUSED:
            return reopen(store_id, proposal.number, act)
        made = apply_plan.entry_versions(store_id, seq) if proposal is not None else []
        plan = apply_plan.undo_plan(store_id, made)
        if plan.has_problems:
            raise NeedsChoice(plan)
        return None if plan.is_empty else apply_plan.undo(store_id, made, {}, plan.digest, act, told={"entry": seq}).seq


def _is_undone(proposal: Proposal) -> bool:
    """Return whether a proposal was merged, and its merge has been undone completely."""
    if proposal.seq is None or proposal.state not in (ProposalState.MERGED, ProposalState.PARTLY_MERGED):
        return False
    undone = undoing(proposal.store_id, [proposal.seq]).get(proposal.seq)
    return undone is not None and undone.is_whole


def seen_of(proposal: Proposal) -> str:
    """Return the time of a proposal's last change as ISO text. `refuse` compares this text."""
    return str(proposal.changed_at.isoformat())


def _replaced(changes: Iterable[Change], merged: Collection[str]) -> dict[str, object]:
    """Return the part of the entry's input that names replaced changes.

    A change is replaced, completely or in part, by a later change of the same proposal. Only changes of memories in
    `merged` are named.
    """
    chosen = [change for change in changes if change.memory in merged]
    lists = {
        "replaced": [name for change in chosen for name in change.replaced],
        "replaced_in_part": [name for change in chosen for name in change.cut],
    }
    return {name: plans.named_ids(found) for name, found in lists.items() if found}


def _open(store_id: str, number: int) -> Proposal:
    proposal = Proposal.objects.of_store(store_id).get(number=number)
    if not proposal.is_open:
        raise AlreadyDecided(proposal)
    return proposal


def _state_after(merged: Collection[str], left: Collection[str]) -> ProposalState:
    """Return a proposal's state after a decision. `left` has the memories with a change refused or merged in part."""
    if not left:
        return ProposalState.MERGED
    return ProposalState.PARTLY_MERGED if merged else ProposalState.REFUSED


def close(proposal: Proposal, state: ProposalState, seq: int, act: Act) -> None:
    """Close an open proposal in a state. `seq` is the entry of the act."""
    proposal.state, proposal.seq, proposal.decided_at, proposal.reason = state, seq, act.at, act.note or ""
    proposal.save(update_fields=["state", "seq", "decided_at", "reason"])
