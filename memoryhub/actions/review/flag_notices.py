"""Notifies people of decisions about memories that they flagged."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Decision, Memory, Notice, Review

FLAGS = (Decision.FLAGGED, Decision.UNFLAGGED)


def add(store: Tree, decision: Decision, reviews: Sequence[Review]) -> None:
    """Create notices of a decision about memories, in its transaction, for the people who flagged these memories.

    The person who decides gets none. The `thread` of a notice is the id of the review that set the flag. Its `comment`
    is the id of the last one of `reviews` that is about the flagged memory.
    """
    newest = {review.memory_id: review for review in reviews} if decision != Decision.FLAGGED else {}
    for part in in_parts(sorted(newest)):
        flagged = part if decision == Decision.UNFLAGGED else _flagged(store, part)
        told = [
            Notice(store_id=store.store, memory_id=memory, thread=flag, comment=newest[memory].pk, to_id=person,
                   is_mention=False)
            for memory, flags in _flags(store, flagged).items()
            for person, flag in flags.items()
            if person != newest[memory].by_id
        ]  # fmt: skip
        if told:
            Notice.objects.filter(store_id=store.store, thread__in=[one.thread for one in told]).delete()
            Notice.objects.bulk_create(told)


def _flagged(store: Tree, memories: Collection[str]) -> Collection[str]:
    return Memory.objects.among(store.store, memories).filter(flagged=True).values_list("pk", flat=True)


def _flags(store: Tree, memories: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """Return {memory: {person: id of the review by which the person flagged it}}, without removed flags."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    if not memories:
        return found
    flags = Review.objects.filter(store_id=store.store, memory_id__in=memories, decision__in=FLAGS, seq__lt=store.seq)
    for memory, decision, person, pk in flags.order_by("seq").values_list("memory_id", "decision", "by_id", "pk"):
        if decision == Decision.UNFLAGGED:
            found[memory].clear()
        elif person:
            found[memory][person] = pk
    return found
