"""Finds what changed in a memory since a person last approved it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from memoryhub.actions.review.decisions import LOOK_BACK
from memoryhub.models import AuditEntry, Decision, Memory, MemoryVersion, Review, ReviewState

MOST_WRITERS = 100
"""The most versions of a memory whose writers are named: the newest ones."""

_APPROVED = (ReviewState.APPROVED, ReviewState.EDITED)
_SETTLED = Q(review_state=None) | Q(review_state=ReviewState.APPROVED)


@dataclass(frozen=True, slots=True)
class Since:
    """The changes of a memory since its version `base` (None: since the beginning).

    If `is_own`, `base` is the last version that the person approved or made by an edit. Otherwise, `base` is the last
    version that was approved or needs no review, and that is older than all versions that await review. `count` is
    the number of versions after `base`. `writers` are the authors of these later versions, the last author first.
    """

    base: MemoryVersion | None
    is_own: bool
    count: int
    writers: tuple[str, ...]


def since_approved(store_id: str, memories: Collection[str], user_id: str) -> dict[str, Since]:
    """Return {memory: its changes since the person last approved it}, with at most five queries.

    A memory is left out if its changes are unknown.
    """
    own = _own(store_id, memories, user_id)
    found = list(_with_settled(store_id, memories))
    rows = [
        (memory, count, settled)
        for memory, count, settled, oldest in found
        if memory in own or settled is not None or oldest == 1
    ]
    numbers = {memory: own.get(memory, settled) or 0 for memory, _, settled in rows}
    bases = _versions(store_id, numbers)
    after = {memory: (max(numbers[memory], count - MOST_WRITERS), count) for memory, count, _ in rows}
    writers = _writers(store_id, {memory: first for memory, (first, last) in after.items() if last > first})
    return {
        memory: Since(bases.get(memory), memory in own, count - numbers[memory], writers.get(memory, ()))
        for memory, count, _ in rows
    }


def _own(store_id: str, memories: Collection[str], user_id: str) -> dict[str, int]:
    """Return {memory: number of the last version that the person approved or made by an edit}."""
    theirs = Review.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("pk")).approvals_of(user_id)
    theirs = theirs.filter(version__review_state__in=_APPROVED)
    last = theirs.order_by("-seq", "-version__number").values("pk")[:1]
    with_last = Memory.objects.among(store_id, memories).annotate(last=Subquery(last)).exclude(last=None)
    reviews = Review.objects.filter(store_id=store_id, pk__in=with_last.values_list("last", flat=True))
    found = list(reviews.values_list("memory_id", "seq", "decision", "version__number"))
    edits = [Q(memory_id=memory, seq=seq) for memory, seq, decision, _ in found if decision == Decision.EDITED]
    made = dict(_any_of(store_id, edits).values_list("memory_id", "number")) if edits else {}
    return {memory: made.get(memory, number) for memory, _, _, number in found}


def _with_settled(store_id: str, memories: Collection[str]) -> Iterable[tuple[str, int, int | None, int]]:
    """Return (memory, newest number, settled number or None, oldest considered number) for each memory.

    Only the newest LOOK_BACK versions are considered. The settled number is the number of the last version that was
    approved or needs no review, and that is older than all versions that await review.
    """
    # A version is settled if it was approved or needs no review, and is older than the first one that awaits review.
    of_memory = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("pk"))
    near = of_memory.filter(number__gt=OuterRef("version_count") - LOOK_BACK)
    first = near.unreviewed().order_by("number").values("number")[:1]
    settled = near.filter(_SETTLED, number__lt=OuterRef("first_waiting")).order_by("-number").values("number")[:1]
    found = Memory.objects.among(store_id, memories)
    found = found.annotate(first_waiting=Coalesce(Subquery(first), F("version_count") + 1))
    oldest = Subquery(near.order_by("number").values("number")[:1])
    columns = ("pk", "version_count", "settled", "oldest")
    return found.annotate(settled=Subquery(settled), oldest=oldest).values_list(*columns)


def _versions(store_id: str, numbers: Mapping[str, int]) -> dict[str, MemoryVersion]:
    named = (Q(memory_id=memory, number=number) for memory, number in numbers.items())
    return {version.memory_id: version for version in _any_of(store_id, named).select_related("text")}


def _any_of(store_id: str, conditions: Iterable[Q]) -> QuerySet[MemoryVersion]:
    return MemoryVersion.objects.filter(reduce(or_, conditions, Q(pk="")), store_id=store_id)


def _writers(store_id: str, after: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return {memory: the names of the authors of its versions after the version number `after[memory]`}.

    The author of the newest version comes first.
    """
    later = _any_of(store_id, (Q(memory_id=memory, number__gt=number) for memory, number in after.items()))
    made = list(later.order_by("-number").values_list("memory_id", "seq"))
    entries = AuditEntry.objects.of_chain(store_id).of_seqs({seq for _, seq in made})
    names = dict(entries.values_list("seq", "label"))
    found: dict[str, dict[str, None]] = {memory: {} for memory in after}
    for memory, seq in made:
        if name := names.get(seq):
            found[memory].setdefault(name)
    return {memory: tuple(writers) for memory, writers in found.items()}
