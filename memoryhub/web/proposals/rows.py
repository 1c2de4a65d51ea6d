"""The rows of proposals: who proposes, and which memories would be changed. They contain no texts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.actions.core.proposing import MOST_CHANGES
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.actions.review import assignments
from memoryhub.models import Agent, Proposal, ProposedChange, Session, User

KINDS = ("created", "modified", "moved", "moved_modified", "deleted")
FEW = 3
"""The most paths that a row shows."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The change that a proposal makes to one memory."""

    name: str  # the name of the memory in the plan
    kind: str  # one of KINDS
    path: str
    to: str  # the new path, or empty
    calls: Mapping[str, int]  # {id of a change: the number of its call's entry}
    number: int  # the number of the newest change
    rule: int | None = None  # the path rule that held the newest change back, by its number


@dataclass(frozen=True, slots=True)
class Row:
    """A proposal, the name of its agent, the name of its session or "", and its memories."""

    proposal: Proposal
    agent: str
    session: str
    outlines: Sequence[Outline]
    assigned: User | None = None  # who is to decide
    reviewers: Sequence[User] = ()  # the other people to choose from
    looking: User | None = None  # another person who has the proposal open

    @property
    def count(self) -> int:
        return len(self.outlines)

    @property
    def first(self) -> Sequence[Outline]:
        return self.outlines[:FEW]

    @property
    def more(self) -> int:
        return max(0, self.count - FEW)

    @property
    def piece(self) -> int:
        """Return the number of this proposal's first comparison on a page that numbers those of several proposals."""
        return 1 + MOST_CHANGES * (1 + self.proposal.number % 900)

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Return (kind, number of memories) for each kind of change in the proposal."""
        counted = Counter(outline.kind for outline in self.outlines)
        return [(kind, counted[kind]) for kind in KINDS if counted[kind]]

    @property
    def seqs(self) -> list[int]:
        """Return the numbers of the entries of all calls, in order."""
        return sorted({seq for outline in self.outlines for seq in outline.calls.values()})


def rows_of(proposals: Sequence[Proposal], asker: User | None = None) -> list[Row]:
    """Return the rows of some proposals. `reviewers` and `looking` are set only with an `asker`."""
    agents = dict(Agent.objects.filter(pk__in={one.agent for one in proposals}).values_list("pk", "name"))
    named = {one.session for one in proposals if one.session}
    sessions = dict(Session.objects.filter(pk__in=named).values_list("pk", "name"))
    stores = {one.store_id for one in proposals}
    outlines = _outlines(stores, [one.pk for one in proposals])
    assigned = assignments.of_proposals(proposals)
    reviewers = assignments.reviewers_of(stores) if asker else {}
    looking = _looking(proposals, asker) if asker else {}
    return [
        Row(
            one,
            agents.get(one.agent) or one.imported_agent or _("unknown agent"),
            sessions.get(one.session or "", ""),
            outlines.get(one.pk, ()),
            assigned.get(one.pk),
            [person for person in reviewers.get(one.store_id, ()) if person != asker],
            looking.get(one.pk),
        )
        for one in proposals
    ]


def _looking(proposals: Sequence[Proposal], asker: User) -> Mapping[str, User]:
    """Return {proposal: another person who has it open now}."""
    now = timezone.now()
    claimed = {one.pk: one.claimed_by_id for one in proposals if one.is_claimed(now) and one.claimed_by_id != asker.pk}
    people = User.objects.in_bulk(set(claimed.values())) if claimed else {}
    return {proposal: people[user] for proposal, user in claimed.items() if user in people}


def _outlines(stores: Collection[str], proposals: Collection[str]) -> Mapping[str, Sequence[Outline]]:
    writes = ExpressionWrapper(Q(content__isnull=False), output_field=BooleanField())
    changes: Iterable[Any] = ProposedChange.objects.filter(store_id__in=stores, proposal__in=proposals)
    found: dict[str, list[Any]] = defaultdict(list)
    for change in changes.order_by("proposal", "number").annotate(writes=writes).defer("content"):  # type: ignore[attr-defined]
        found[change.proposal].append(change)
    return {
        proposal: sorted((_outline(*one) for one in by_memory(of_one).items()), key=lambda one: (one.path, one.name))
        for proposal, of_one in found.items()
    }


def _outline(name: str, steps: Sequence[Any]) -> Outline:
    moves = [step for step in steps if step.new_path is not None]
    last, is_new = steps[-1], steps[0].memory is None
    kind = "moved_modified" if any(step.writes for step in steps) else "moved"
    if last.deletes:
        kind = "deleted"
    elif is_new or not moves:
        kind = "created" if is_new else "modified"
    to = str(moves[-1].new_path) if "moved" in kind else ""
    path = str(moves[-1].path) if to else str(last.path)
    return Outline(name, kind, path, to, {step.pk: step.seq for step in steps}, last.number, last.rule)
