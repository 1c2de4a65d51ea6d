"""Comments that people publish on a proposal: alone, or together with the decision about the proposal, in one entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memoryhub.actions.comments import comments
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryVersion, Proposal, ProposedChange
from memoryhub.pure.protocol import results

MOST_AT_ONCE = 50
"""The most comments that are published together."""


class NoSuchPlace(Exception):
    """The proposal has no such line."""


class Place(NamedTuple):
    """A line of a change to one memory in a proposal. See `models.Comment` for the fields."""

    change: str
    base: str
    number: int
    is_old: bool
    line: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An unpublished comment, on a line or on the proposal as a whole. With `tells`, the proposing agent reads it
    too."""

    text: str
    tells: bool = False
    place: Place | None = None


def publish(store: Tree, proposal: Proposal, drafts: Sequence[Draft]) -> dict[str, object]:
    """Add comments to a proposal, in a transaction whose entry must follow.

    Return the values that describe the comments in the input of that entry. Raises NoSuchPlace, `comments.TooMany` and
    `comments.NotANote`.
    """
    if len(drafts) > MOST_AT_ONCE:
        raise comments.TooMany
    _require_places(proposal, [draft.place for draft in drafts if draft.place])
    made = []
    for draft in drafts:
        tell = proposal.agent if draft.tells else ""
        place = {"number": 0} if draft.place is None else _columns(draft.place)
        made.append(comments.added(store, proposal, draft.text, agent=proposal.agent, tell=tell, **place).pk)
    told = {"tells": proposal.agent} if any(draft.tells for draft in drafts) else {}
    return {"comments": made, **told} if made else {}


def _columns(place: Place) -> dict[str, Any]:
    columns = place._asdict()
    line = columns.pop("line")
    return columns | {"first": line, "last": line}


def _require_places(proposal: Proposal, places: Sequence[Place]) -> None:
    """Raise NoSuchPlace if the proposal cannot have one of these places."""
    if not places:
        return
    changes = list(ProposedChange.objects.of_proposal(proposal).values_list("pk", "memory", "number"))
    versions = MemoryVersion.objects.among(proposal.store_id, {place.base for place in places})
    of_memories = versions.filter(memory_id__in={memory for _, memory, _ in changes if memory})
    bases = {*of_memories.values_list("memory_id", "pk"), *((pk, "") for pk, memory, _ in changes if memory is None)}
    numbers = {number for *_, number in changes}
    for place in places:
        known = (place.change, place.base) in bases and place.number in numbers
        if not known or not 1 <= place.line <= results.MOST_LINES:
            raise NoSuchPlace


def comment(store_id: str, number: int, drafts: Sequence[Draft], act: Act) -> None:
    """Publish comments on a proposal without a decision.

    Raises Proposal.DoesNotExist, the errors of `publish`, and ToolError if the memory store is archived.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        proposal = Proposal.objects.of_store(store_id).get(number=number)
        details = {"proposal": proposal.pk, "number": number, **publish(store, proposal, drafts)}
        tree.commit(store, Record("comment", input=audit.to_json(details)))
