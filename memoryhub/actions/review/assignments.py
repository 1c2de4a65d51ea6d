"""Who is to review a memory: assigning it, and the people who can be asked."""

from collections.abc import Collection, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import Assignment, Member, Memory, MemoryVersion, Role, User

ROLES = [role for role in Role if role.includes(WHO)]
"""The roles that review."""

MOST_REVIEWERS = 100
"""The most people that are offered."""


MOST_NAMED = 5
"""The most people who are named with what is assigned to them."""


class NoReviewer(Exception):
    """The person does not review in the memory store."""


def standing(*store_ids: str) -> QuerySet[Assignment]:
    """Return the assignments of stores to people who still review there."""
    has_role = Exists(Member.objects.filter(store_id=OuterRef("store_id"), user=OuterRef("to"), role__in=ROLES))
    found = Assignment.objects.filter(
        Q(has_role) | Q(to__is_superuser=True), store_id__in=store_ids, to__is_active=True
    )
    return found.select_related("to")


def of_each(store_ids: Collection[str]) -> list[tuple[User, int]]:
    """Return the people to whom memories of some stores are assigned and how many, those with most first."""
    counts = dict(
        standing(*store_ids).values_list("to").annotate(count=Count("pk")).order_by("-count", "to")[:MOST_NAMED]
    )
    people = User.objects.in_bulk(counts)
    return [(people[user], count) for user, count in counts.items()]


def reviewers(store_id: str) -> Sequence[User]:
    """Return the people who have a role that reviews in a store, by name."""
    members = Member.objects.filter(store_id=store_id, role__in=ROLES)
    return list(
        User.objects.filter(is_active=True, pk__in=members.values("user")).order_by("name", "email")[:MOST_REVIEWERS]
    )


def assign(store_id: str, memory_id: str, to: str | None, act: Act) -> int | None:
    """Assign the review of a memory to a person, by id; None takes it from whoever has it. Return the entry's seq.

    Return None if nothing changes or no version awaits review. Raise NoReviewer.
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


def _waits(store_id: str, memory_id: str) -> bool:
    return MemoryVersion.objects.filter(store_id=store_id, memory_id=memory_id).unreviewed().exists()


def _reviewer(store_id: str, user_id: str) -> User:
    has_role = Exists(Member.objects.filter(store_id=store_id, user=OuterRef("pk"), role__in=ROLES))
    found = User.objects.filter(Q(has_role) | Q(is_superuser=True), pk=user_id, is_active=True).first()
    if found is None:
        raise NoReviewer
    return found


def end(store_id: str, memories: Collection[str]) -> None:
    """End the assignments of those memories that no longer have a version to review, in the decision's transaction."""
    waiting = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("memory_id")).unreviewed()
    Assignment.objects.filter(~Exists(waiting), store_id=store_id, memory_id__in=memories).delete()
