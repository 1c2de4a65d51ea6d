"""Reviews on other pages: decisions about a version, older versions that await review, and flags of memories."""

from django import template
from django.utils import timezone

from memoryhub.actions.review.decisions import LOOK_BACK
from memoryhub.actions.review.verbs import OF_DECISION, OF_SEVERAL, OF_STATE, VERBS, Verb
from memoryhub.models import Decision, Memory, MemoryVersion, Review
from memoryhub.web.review.items import Item, items_of
from memoryhub.web.review.queries import Row

register = template.Library()


@register.simple_tag(takes_context=True)
def review_of(context: template.Context, version: MemoryVersion, compares: bool = False) -> Item:
    """Return a version with the facts about its review. With `compares`, the diff of the version is among them."""
    row = Row(version.store_id, version.seq, version.pk, version.memory_id, version.path, version.created_at)
    return items_of([row], context["request"].user, timezone.now(), compares=compares)[0]


@register.simple_tag
def older_waiting(memory: Memory) -> int:
    """Return how many of the last LOOK_BACK versions of a memory await review.

    Return 0 if the newest version awaits review itself.
    """
    if memory.head.awaits_review:
        return 0
    last = MemoryVersion.objects.of_memory(memory).filter(number__gt=memory.version_count - LOOK_BACK)
    return last.unreviewed().count()


@register.simple_tag
def verb(name: str) -> Verb:
    return VERBS[name]


@register.simple_tag
def verbs_of_several() -> list[Verb]:
    """Return the decisions that the inbox offers for several selected versions."""
    return OF_SEVERAL


@register.filter
def verb_of_state(state: str | None) -> Verb | None:
    return OF_STATE.get(state or "")


@register.filter
def verb_of_decision(decision: str) -> Verb:
    return OF_DECISION[decision]


@register.simple_tag
def flag_of(memory: Memory) -> Review | None:
    """Return the newest review that flagged a memory, or None if none did."""
    flags = Review.objects.of_memory(memory.store_id, memory.pk).filter(decision=Decision.FLAGGED)
    return flags.newest().select_related("by").first()
