"""Proposals on other pages: how many are open in a memory store, and where a person has to decide about some."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser
from django.db.models import Count

from memoryhub.actions.core.plans import Change
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import MemoryStore, Proposal, ProposalState, Role, User
from memoryhub.web.proposals.preview import conflict_words

register = template.Library()

MOST_STORES = 20
"""The most memory stores that are named, in the order of their names."""


@register.simple_tag
def open_proposals(store: MemoryStore) -> int:
    """Return the number of open proposals of a store, by one indexed query."""
    return Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN).count()


@register.simple_tag
def proposals_to_decide(user: User | AnonymousUser) -> Iterable[dict[str, Any]]:
    """Return {store_id, name, count} of the stores in which a person may decide about open proposals.

    It is one query: a store has a limited number of open proposals.
    """
    if not isinstance(user, User):
        return ()
    stores = MemoryStore.objects.active()
    if not user.is_superuser:
        may = [role for role in Role if role.includes(WHO)]
        stores = stores.filter(members__user=user, members__role__in=may)
    waiting = Proposal.objects.filter(store_id__in=stores.order_by().values("pk")).of_state(ProposalState.OPEN)
    counted: Any = waiting.values("store_id", "store__name").annotate(count=Count("number"))
    return list(counted.order_by("store__name", "store_id")[:MOST_STORES])


@register.simple_tag
def why_asked(change: Change) -> str:
    """Return why a person has to choose what becomes of a memory."""
    return conflict_words(change)
