"""Proposals on pages: how many are open in a memory store, and why a person has to choose."""

from django import template

from memoryhub.actions.core.plans import Change
from memoryhub.models import MemoryStore, Proposal, ProposalState
from memoryhub.web.proposals.preview import conflict_words

register = template.Library()


@register.simple_tag
def open_proposals(store: MemoryStore) -> int:
    """Return the number of open proposals of a store, by one indexed query."""
    return Proposal.objects.of_store(store.pk).of_state(ProposalState.OPEN).count()


@register.simple_tag
def why_asked(change: Change) -> str:
    """Return a sentence on why a person has to choose what happens to a memory."""
    return conflict_words(change)
