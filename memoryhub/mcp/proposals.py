"""The tool with which an agent follows its own proposals."""

from typing import Any

from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.proposals import own
from memoryhub.actions.proposals.own import CommentForAgent, NoSuchProposal, NotOpen, Own
from memoryhub.machines import cursors
from memoryhub.mcp import reads
from memoryhub.mcp.arguments import Unusable, cursor_of, flag_of, limit_of, text_of, whole_of
from memoryhub.mcp.calls import answer
from memoryhub.models import Access, ProposalState, ProposedChange
from memoryhub.pure import chain
from memoryhub.pure.protocol import paths

Json = dict[str, Any]


def proposals(store_id: str, arguments: Json, asked: Asked, token: str | None) -> Json:
    """List the proposals of the caller's agent, return one of them, or withdraw it."""
    return reads.run(_proposals, own.LIST, store_id, arguments, asked)


def _proposals(store_id: str, arguments: Json, asked: Asked) -> Json:
    number = whole_of(arguments, "number", 1, 2**53)
    try:
        if flag_of(arguments, "withdraw"):
            if number is None:
                raise Unusable("`withdraw` needs the `number` of a proposal.")
            if not asked.caller.access.includes(Access.WRITE):
                raise Unusable("This needs a key with `write` access to the memory store.")
            return _answer([own.withdraw(store_id, number, asked)])
        if number is not None:
            return _answer([own.view(store_id, number, asked)])
    except (NoSuchProposal, NotOpen) as error:
        return answer(f"Error: {error}", is_error=True)
    return _list(store_id, arguments, asked)


def _list(store_id: str, arguments: Json, asked: Asked) -> Json:
    state = text_of(arguments, "state")
    if state is not None and state not in ProposalState:
        raise Unusable(f"`state` must be one of {', '.join(ProposalState)}.")
    filters = {"store": store_id, "state": state}
    before = cursor_of("proposals", filters, arguments, (int,))
    page = own.list_own(store_id, state, asked, limit=limit_of(arguments), before=before[0] if before else None)
    next_page = None if page.next is None else cursors.encode("proposals", filters, [page.next])
    return _answer(page.proposals, next_page)


def _answer(found: list[Own], next_page: str | None = None) -> Json:
    return reads.both({"data": [_proposal(one) for one in found], "next_page": next_page})


def _proposal(found: Own) -> Json:
    proposal, outcomes = found.proposal, found.outcomes()
    return {
        "number": proposal.number,
        "state": proposal.state,
        "created_at": chain.moment(proposal.opened_at),
        "updated_at": chain.moment(proposal.changed_at),
        "decided_at": chain.moment(proposal.decided_at) if proposal.decided_at else None,
        "reason": proposal.reason or None,
        "comments": [_comment(one) for one in found.comments_for_agent()],
        "changes": [_change(change, outcomes.get(change.pk), found.with_texts) for change in found.changes],
    }


def _comment(told: CommentForAgent) -> Json:
    path = None if told.path is None else paths.to_tool(told.path)
    return {"text": told.text, "created_at": chain.moment(told.at), "path": path, "line": told.line, "of": told.of}


def _change(change: ProposedChange, outcome: str | None, with_texts: bool) -> Json:
    details = {
        "operation": change.operation,
        "path": paths.to_tool(change.path),
        "new_path": None if change.new_path is None else paths.to_tool(change.new_path),
        "outcome": outcome,
    }
    return details | {"content": change.content} if with_texts else details
