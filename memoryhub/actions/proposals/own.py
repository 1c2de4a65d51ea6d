"""An agent's own proposals: listing them, viewing one with its decision, and withdrawing an open one.

Each call has an audit entry. For the caller, the proposals of other agents do not exist.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.rules.sight import sees, sight_in
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories.api.requests import Asked, on_store
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.models import AuditEntry, Comment, Proposal, ProposalState, ProposedChange
from memoryhub.models.proposals import ProposalQuerySet

OUTCOMES = ("refused", "merged", "merged_in_part")
"""The outcomes of a decision about a memory, which are also the names of the lists of memories in the decision's entry.
If several lists contain a memory, the last one counts."""

REPLACED = {"replaced": "replaced", "replaced_in_part": "merged_in_part"}
"""{name of a list in the entry of a decision: outcome of the changes in it}. Later changes of the proposal replaced
these changes, completely or in part."""

MOST_LISTED = 20
"""The most proposals of a page, because each can have many changes."""

LIST, VIEW, WITHDRAW = "list_proposals", "view_proposal", "withdraw_proposal"


class NoSuchProposal(Exception):
    """The agent has no proposal with this number in the memory store."""


class NotOpen(Exception):
    """The proposal cannot be withdrawn, because it is no longer open. `proposal` is its row."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(f"Proposal #{proposal.number} cannot be withdrawn: it is {proposal.state.replace('_', ' ')}.")
        self.proposal = proposal


class CommentForAgent(NamedTuple):
    """A comment that people address to the agent. `path` is the path of the commented memory (None: the proposal as a
    whole).

    `of` is `before` if the comment is on the text before the change, and `proposed` if it is on the proposed text.
    `line` is None if the agent has not seen that text.
    """

    text: str
    at: datetime
    path: str | None
    line: int | None
    of: str | None


@dataclass(frozen=True, slots=True)
class Own:
    """A proposal with its changes in the order of the calls.

    `decision` is the audit entry of the decision; None while the proposal is open, and after the entry was removed. If
    `with_texts` is False, the contents of the changes were not read. `comments` are the comments that people address to
    the agent, oldest first.
    """

    proposal: Proposal
    changes: Sequence[ProposedChange]
    decision: AuditEntry | None
    with_texts: bool
    comments: Sequence[Comment] = ()

    def comments_for_agent(self) -> Iterator[CommentForAgent]:
        """Yield the comments that people address to the agent, except those on changes that the agent no longer
        sees."""
        groups = by_memory(self.changes)
        for comment in self.comments:
            steps = groups.get(comment.change or "", ())
            if not comment.change:
                yield CommentForAgent(comment.text, comment.at, None, None, None)
            elif steps:
                of = "before" if comment.is_old else "proposed"
                is_its = any((one.number, one.base or "") == (comment.number, comment.base) for one in steps)
                yield CommentForAgent(comment.text, comment.at, steps[-1].path, comment.first if is_its else None, of)

    def outcomes(self) -> dict[str, str]:
        """Return {id of a change: its outcome}. The outcome is one of OUTCOMES or of REPLACED.

        A change is left out if the memory already had it, or if the entry of the decision does not list it.
        """
        groups = by_memory(self.changes)
        details = details_of(self.decision)
        as_a_whole = self.proposal.state == ProposalState.REFUSED and "refused" not in details
        of_memory = dict.fromkeys(groups, "refused") if as_a_whole else {}
        for outcome in OUTCOMES:
            of_memory |= dict.fromkeys(listed(details.get(outcome)), outcome)
        found = {change.pk: of_memory[name] for name in groups if name in of_memory for change in groups[name]}
        for name, outcome in REPLACED.items():
            found |= dict.fromkeys(found.keys() & listed(details.get(name)), outcome)
        return found


class Page(NamedTuple):
    """A page of proposals, newest first. The next page begins before the number `next` (None: this is the last
    page)."""

    proposals: list[Own]
    next: int | None


def list_own(store_id: str, state: str | None, asked: Asked, *, limit: int, before: int | None = None) -> Page:
    """Return a page of the proposals of the caller's agent, without texts. A page has at most MOST_LISTED proposals.

    If `state` is None, proposals in all states are listed.
    """
    limit = min(limit, MOST_LISTED)
    details = {name: value for name, value in (("state", state), ("before", before)) if value is not None}
    record = Record(LIST, input=audit.to_json(details))

    on_store(store_id, asked, record, lambda store: (None, record))
    with snapshot():
        found = _own(store_id, asked)
        found = found.filter(state=state) if state else found
        found = found.filter(number__lt=before) if before is not None else found
        rows = list(found.order_by("-number")[: limit + 1])
        shown = _with_changes(store_id, rows[:limit], asked, texts=False)
    return Page(shown, shown[-1].proposal.number if len(rows) > limit else None)


def view(store_id: str, number: int, asked: Asked) -> Own:
    """Return a proposal of the caller's agent with the proposed texts. Raises NoSuchProposal."""
    record = Record(VIEW, input=audit.to_json({"number": number}))

    def work(store: Tree) -> tuple[Proposal | Exception, Record]:
        proposal = _own(store_id, asked).filter(number=number).first()
        return _missing(record, number) if proposal is None else (proposal, record)

    return _with_changes(store_id, [on_store(store_id, asked, record, work)], asked, texts=True)[0]


def withdraw(store_id: str, number: int, asked: Asked) -> Own:
    """Close an open proposal of the caller's agent, so that no person has to decide about it. Return the proposal.

    Raises ToolError if the memory store is archived. Also raises NoSuchProposal and NotOpen.
    """
    record = Record(WITHDRAW, input=audit.to_json({"number": number}))

    def work(store: Tree) -> tuple[Proposal | Exception, Record]:
        tree.require_active(store)
        proposal = _own(store_id, asked).filter(number=number).first()
        if proposal is None:
            return _missing(record, number)
        if not proposal.is_open:
            error = NotOpen(proposal)
            return error, record._replace(ok=False, answer=str(error))
        decide.close(proposal, ProposalState.WITHDRAWN, store.seq, store.act)
        return proposal, record

    return _with_changes(store_id, [on_store(store_id, asked, record, work)], asked, texts=True)[0]


def _own(store_id: str, asked: Asked) -> ProposalQuerySet:
    return Proposal.objects.of_store(store_id).filter(agent=asked.caller.agent)


def _missing(record: Record, number: int) -> tuple[NoSuchProposal, Record]:
    error = NoSuchProposal(f"This agent has no proposal #{number} in this memory store.")
    return error, record._replace(ok=False, answer=str(error))


def _with_changes(store_id: str, proposals: Sequence[Proposal], asked: Asked, *, texts: bool) -> list[Own]:
    """Return the proposals with their decisions, their comments, and the changes that the agent still sees."""
    sight = sight_in(store_id, asked.caller.actor, asked.at)
    rows = ProposedChange.objects.filter(store_id=store_id, proposal__in=[proposal.pk for proposal in proposals])
    changes: dict[str, list[ProposedChange]] = defaultdict(list)
    for change in (rows if texts else rows.defer("content")).order_by("proposal", "number"):
        if sees(sight, change.path, change.new_path or change.path):
            changes[change.proposal].append(change)
    seqs = {proposal.seq for proposal in proposals if proposal.seq is not None}
    entries = {entry.seq: entry for entry in AuditEntry.objects.of_chain(store_id).of_seqs(seqs)} if seqs else {}
    comments = _comments(store_id, proposals)
    return [Own(one, changes[one.pk], entries.get(one.seq or 0), texts, comments[one.pk]) for one in proposals]


def _comments(store_id: str, proposals: Sequence[Proposal]) -> Mapping[str, list[Comment]]:
    """Return {proposal: the comments that people address to its agent}."""
    found: dict[str, list[Comment]] = defaultdict(list)
    told = Comment.objects.of_proposals(store_id, [one.pk for one in proposals]).filter(tells=True)
    for comment in told.order_by("pk"):
        found[str(comment.proposal)].append(comment)
    return found


def details_of(entry: AuditEntry | None) -> Mapping[str, Any]:
    """Return the input of the entry of a decision; {} if there is no entry, or if its input is unreadable."""
    try:
        details = json.loads((entry and entry.input) or "{}")
    except ValueError:
        return {}
    return details if isinstance(details, dict) else {}


def listed(value: object) -> set[str]:
    """Return the ids in a value from the entry of a decision; an empty set if the value has only their number."""
    return {str(name) for name in value} if isinstance(value, list) else set()
