"""Assigns the review of a memory, or the decision about a proposal, to a person."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import Assignment, Member, Memory, MemoryVersion, Proposal, ProposalState, Review, Role, User
from memoryhub.models.proposals import ProposalQuerySet

ROLES = [role for role in Role if role.includes(WHO)]
"""The roles that review."""

MOST_REVIEWERS = 100
"""The most people who are offered as reviewers."""


MOST_NAMED = 5
"""The most people whose assignments are counted for a page: those with the most assignments."""


class NoReviewer(Exception):
    """The person does not have a role that reviews in the memory store."""


def standing(*store_ids: str) -> QuerySet[Assignment]:
    """Return the assignments of these stores that are in force: they have not ended, and the person still reviews
    there."""
    return Assignment.objects.filter(_reviews("to"), store_id__in=store_ids, ended_by=None).select_related("to")


def standing_of_proposals(*store_ids: str) -> ProposalQuerySet:
    """Return the proposals of these stores that are assigned to people who still review there."""
    return Proposal.objects.filter(_reviews("assigned_to"), store_id__in=store_ids).select_related("assigned_to")


def _reviews(person: str) -> Q:
    """Return the condition that the person in the column `person` still reviews in the store of the row."""
    has_role = Exists(Member.objects.filter(store_id=OuterRef("store_id"), user=OuterRef(person), role__in=ROLES))
    return (Q(has_role) | Q(**{f"{person}__is_superuser": True})) & Q(**{f"{person}__is_active": True})


def of_proposals(proposals: Sequence[Proposal]) -> Mapping[str, User]:
    """Return {proposal: the person who is to decide about it}. Proposals without an assignment are left out."""
    assigned = {one.pk: one.store_id for one in proposals if one.assigned_to_id}
    if not assigned:
        return {}
    found = standing_of_proposals(*set(assigned.values())).filter(pk__in=assigned)
    return {one.pk: one.assigned_to for one in found if one.assigned_to}


def of_each(store_ids: Collection[str]) -> list[tuple[User, int]]:
    """Return (person, number of memories and open proposals assigned to that person), the highest numbers first.

    At most MOST_NAMED people are returned.
    """
    counts: Counter[str] = Counter()
    waiting = standing_of_proposals(*store_ids).of_state(ProposalState.OPEN).values_list("assigned_to")
    for found in (standing(*store_ids).values_list("to"), waiting):
        counts.update(dict(found.annotate(count=Count("pk")).order_by()))
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_NAMED]
    people = User.objects.in_bulk([user for user, _ in most])
    return [(people[user], count) for user, count in most]


def reviewers(store_id: str) -> Sequence[User]:
    """Return the people who have a role that reviews in a store, sorted by name."""
    return reviewers_of([store_id]).get(store_id, [])


def reviewers_of(store_ids: Collection[str]) -> Mapping[str, Sequence[User]]:
    """Return {store: the people who have a role that reviews there, sorted by name}, with one query."""
    members = Member.objects.filter(store_id__in=store_ids, role__in=ROLES, user__is_active=True)
    found: dict[str, list[User]] = {}
    for member in members.select_related("user").order_by("user__name", "user__email"):
        found.setdefault(member.store_id, []).append(member.user)
    return {store: people[:MOST_REVIEWERS] for store, people in found.items()}


def assign(store_id: str, memory_id: str, to: str | None, act: Act) -> int | None:
    """Assign the review of a memory to the person with the id `to`, or end the assignment (None).

    Return the entry's seq; None if nothing changes or no version awaits review. Raises NoReviewer.
    """
    with tree.locked(store_id, act) as store:
        memory = Memory.objects.filter(store_id=store_id, pk=memory_id).first()
        before = standing(store_id).filter(memory_id=memory_id).first()
        if memory is None or (before.to_id if before else None) == to or not _waits(store_id, memory_id):
            return None
        user = _reviewer(store_id, to) if to else None
        own = Assignment.objects.filter(store_id=store_id, memory_id=memory_id)
        own.delete()
        if user:
            Assignment.objects.create(store_id=store_id, memory_id=memory_id, to=user, at=act.at)
        details = {"memory": memory_id, "user": user.pk if user else None, "email": user.email if user else None}
        details |= {"before": before.to.email if before else None}
        record = Record("assign", path=memory.path, memory=memory_id, input=audit.to_json(details))
        return tree.commit(store, record)


def assign_proposal(store_id: str, number: int, to: str | None, act: Act) -> int | None:
    """Assign an open proposal to the person with the id `to`, or end the assignment (None).

    Return the entry's seq; None if nothing changes or the proposal is not open. Raises NoReviewer and
    Proposal.DoesNotExist.
    """
    with tree.locked(store_id, act) as store:
        proposal = Proposal.objects.of_store(store_id).get(number=number)
        before = of_proposals([proposal]).get(proposal.pk)
        if not proposal.is_open or (before.pk if before else None) == to:
            return None
        user = proposal.assigned_to = _reviewer(store_id, to) if to else None
        proposal.save(update_fields=["assigned_to"])
        details = {"proposal": proposal.pk, "number": number, "user": user.pk if user else None}
        details |= {"email": user.email if user else None, "before": before.email if before else None}
        return tree.commit(store, Record("assign_proposal", input=audit.to_json(details)))


def _waits(store_id: str, memory_id: str) -> bool:
    return MemoryVersion.objects.filter(store_id=store_id, memory_id=memory_id).unreviewed().exists()


def _reviewer(store_id: str, user_id: str) -> User:
    has_role = Exists(Member.objects.filter(store_id=store_id, user=OuterRef("pk"), role__in=ROLES))
    found = User.objects.filter(Q(has_role) | Q(is_superuser=True), pk=user_id, is_active=True).first()
    if found is None:
        raise NoReviewer
    return found


def end(store: Tree, memories: Collection[str]) -> None:
    """End the assignments of memories without versions to review. Call it in the decision's transaction."""
    of_memories = Assignment.objects.filter(store_id=store.store, memory_id__in=memories)
    waiting = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("memory_id")).unreviewed()
    of_memories.filter(~Exists(waiting), ended_by=None).update(ended_by=store.seq)


def resume(store: Tree, versions: Sequence[str], memories: Collection[str]) -> None:
    """Resume the assignments that ended because of decisions about these versions.

    `memories` are the memories of the versions. Call it when the decisions are undone.
    """
    of_memories = Assignment.objects.filter(store_id=store.store, memory_id__in=memories)
    ended = Review.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("memory_id"))
    of_memories.filter(Exists(ended.filter(seq=OuterRef("ended_by"), version_id__in=versions))).update(ended_by=None)
