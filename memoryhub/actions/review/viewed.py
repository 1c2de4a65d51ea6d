"""Marks of the changes that a person has viewed. Only that person sees them. They are not decisions and not audited."""

from collections.abc import Collection

from django.db.models import QuerySet

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Memory, MemoryVersion, Review, User, Viewed


def mark(version: MemoryVersion, user: User) -> None:
    """Record that a person viewed a memory as it was after a version. Do nothing if the memory has been removed."""
    with writing():
        _of(version, user).delete()
        if Memory.objects.filter(store_id=version.store_id, pk=version.memory_id).exists():
            row = Viewed(store_id=version.store_id, memory_id=version.memory_id, by=user, version=version.pk)
            Viewed.objects.bulk_create([row], ignore_conflicts=True)


def unmark(version: MemoryVersion, user: User) -> None:
    """Remove a person's mark from the memory of a version."""
    with writing():
        _of(version, user).delete()


def viewed(store_id: str, memories: Collection[str], user: User) -> dict[str, str]:
    """Return {memory: version} of a person's marks: the person viewed the memory as it was after the version."""
    marks = Viewed.objects.filter(store_id=store_id, memory_id__in=memories, by=user)
    return dict(marks.values_list("memory_id", "version"))


def last_approval(store_id: str, user: User) -> int | None:
    """Return the seq of the entry of a person's newest approval in a store; None if there is none.

    An approval as part of an edit counts too. An approval that was taken back does not count.
    """
    approvals = Review.objects.filter(store_id=store_id).approvals_of(user.pk)
    return approvals.order_by("-seq").values_list("seq", flat=True).first()


def _of(version: MemoryVersion, user: User) -> QuerySet[Viewed]:
    return Viewed.objects.filter(store_id=version.store_id, memory_id=version.memory_id, by=user)
