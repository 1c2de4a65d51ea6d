"""An agent's own proposals in the API: list, retrieve, withdraw."""

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.proposals import own
from memoryhub.actions.proposals.own import CommentForAgent, NoSuchProposal, NotOpen, Own
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.proposals import ListProposals, Proposal, ProposalPage
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, ProposedChange
from memoryhub.pure import chain
from memoryhub.pure.actors import actor

router = Router()

ALL = "/memory_stores/{memory_store_id}/proposals"
ONE = ALL + "/{proposal_number}"

MOST_DIGITS = 18


@router.get(ALL, auth=needs(Access.READ), response=answers(ProposalPage, 429), summary="List your proposals")
def list_proposals(request: HttpRequest, memory_store_id: str, query: Query[ListProposals]) -> Json:
    """The proposals of the key's agent in this memory store, newest first, without texts. Those of other agents are not
    among them."""
    filters = {"store": memory_store_id, "state": query.state}
    before = cursors.decode("proposals", filters, query.page, (int,))
    asked = call_of(request).asked
    page = own.list_own(memory_store_id, query.state, asked, limit=query.limit, before=before[0] if before else None)
    return {
        "data": [as_json(found) for found in page.proposals],
        "next_page": None if page.next is None else cursors.encode("proposals", filters, [page.next]),
    }


@router.get(ONE, auth=needs(Access.READ), response=answers(Proposal, 429), summary="Retrieve your proposal")
def retrieve_proposal(request: HttpRequest, memory_store_id: str, proposal_number: str) -> Json:
    """A proposal of the key's agent with its texts. Once it is decided, it also says who decided, the outcome of each
    change, and the reason."""
    try:
        return as_json(own.view(memory_store_id, _number(proposal_number), call_of(request).asked))
    except NoSuchProposal as error:
        raise Problem.not_found(str(error)) from None


@router.post(
    ONE + "/withdraw", auth=needs(Access.WRITE), response=answers(Proposal, 409, 429),
    summary="Withdraw your proposal",
)  # fmt: skip
def withdraw_proposal(request: HttpRequest, memory_store_id: str, proposal_number: str) -> Json:
    """Closes an open proposal of the key's agent: no person decides about it. 409 if it is not open."""
    try:
        return as_json(own.withdraw(memory_store_id, _number(proposal_number), call_of(request).asked))
    except NoSuchProposal as error:
        raise Problem.not_found(str(error)) from None
    except NotOpen as error:
        raise Problem.conflict("proposal_not_open_error", str(error)) from None


def as_json(found: Own) -> Json:
    """Return the JSON of a proposal, with the API's paths."""
    proposal, entry = found.proposal, found.decision
    outcomes = found.outcomes()
    return {
        "type": "proposal",
        "memory_store_id": proposal.store_id,
        "number": proposal.number,
        "state": proposal.state,
        "api_key_id": proposal.key,
        "session_id": proposal.session,
        "created_at": chain.moment(proposal.opened_at),
        "updated_at": chain.moment(proposal.changed_at),
        "decided_at": chain.moment(proposal.decided_at) if proposal.decided_at else None,
        "decided_by": actor(entry.actor_kind, entry.actor_id, entry.session) if entry else None,
        "reason": proposal.reason or None,
        "comments": [_comment(one) for one in found.comments_for_agent()],
        "changes": [_change(change, found, outcomes.get(change.pk)) for change in found.changes],
    }


def _change(change: ProposedChange, found: Own, outcome: str | None) -> Json:
    return {
        "operation": change.operation,
        "path": change.path,
        "new_path": change.new_path,
        "memory_id": change.memory,
        "content": change.content if found.with_texts else None,
        "outcome": outcome,
    }


def _comment(told: CommentForAgent) -> Json:
    place = {"path": told.path, "line": told.line, "of": told.of}
    return {"text": told.text, "created_at": chain.moment(told.at), **place}


def _number(text: str) -> int:
    """Return the number of a proposal in an address. Raises Problem (404) for any other text."""
    if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS:
        return int(text)
    raise Problem.not_found("A proposal is named by its number, such as 17.")
