"""Comments that people publish on a proposal: alone, or with the decision about it, in its entry."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryhub.actions.comments import comments
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Proposal

MOST_AT_ONCE = 50
"""The most comments that are published together."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment that is not published yet. `tells`: the agent that proposed the changes reads it too."""

    text: str
    tells: bool = False


def publish(store: Tree, proposal: Proposal, drafts: Sequence[Draft]) -> dict[str, object]:
    """Add the comments in a transaction. Return what the entry, which must follow, says of them.

    Raises `comments.TooMany` and `comments.NotANote`.
    """
    if len(drafts) > MOST_AT_ONCE:
        raise comments.TooMany
    made = [
        comments.added(
            store, proposal, draft.text, agent=proposal.agent, tell=proposal.agent if draft.tells else "", number=0
        ).pk
        for draft in drafts
    ]
    told = {"tells": proposal.agent} if any(draft.tells for draft in drafts) else {}
    return {"comments": made, **told} if made else {}


def comment(store_id: str, number: int, drafts: Sequence[Draft], act: Act) -> None:
    """Publish comments on a proposal alone. Raises Proposal.DoesNotExist, `comments.TooMany`, `comments.NotANote`, and
    ToolError if the memory store is archived."""
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        proposal = Proposal.objects.of_store(store_id).get(number=number)
        details = {"proposal": proposal.pk, "number": number, **publish(store, proposal, drafts)}
        tree.commit(store, Record("comment", input=audit.to_json(details)))
