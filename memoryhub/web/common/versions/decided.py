"""The decisions about versions: who made the last one, when, and by which entry."""

from collections.abc import Iterable

from memoryhub.models import Decision, MemoryVersion, Review, ReviewState

_FLAGS = (Decision.FLAGGED, Decision.UNFLAGGED)


def decided(store_id: str, versions: Iterable[MemoryVersion]) -> dict[str, Review]:
    """Return {version id: the last decision about the version}. Setting or removing a flag is not a decision."""
    memories = {v.pk: v.memory_id for v in versions if v.review_state not in (None, ReviewState.UNREVIEWED)}
    if not memories:
        return {}
    found = Review.objects.filter(store_id=store_id, memory_id__in=set(memories.values()), version_id__in=memories)
    return {one.version_id: one for one in found.exclude(decision__in=_FLAGS).select_related("by").order_by("seq")}
