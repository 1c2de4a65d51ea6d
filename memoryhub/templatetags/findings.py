"""Findings on other pages: what a kind is called, and how many a memory has open."""

from django import template

from memoryhub.models import Finding, FindingState, Memory, MemoryStore, User
from memoryhub.web.common import kinds

register = template.Library()

MOST, MOST_EVERYWHERE = 100, 1000
"""So many are counted of a memory and of all stores, and no more."""


@register.filter
def kind_label(kind: str) -> str:
    return kinds.label(kind)


@register.filter
def kind_group(kind: str) -> str:
    return kinds.group_of(kind).value


@register.simple_tag
def open_findings(memory: Memory) -> int:
    """How many findings of a memory are open, up to MOST, in one question to one index."""
    of_memory = Finding.objects.of_memory(memory.store_id, memory.pk).open()
    return of_memory.order_by().values("memory_id")[:MOST].count()


@register.simple_tag
def dismissed_findings(memory: Memory) -> int:
    """How many findings of a memory people have dismissed, up to MOST."""
    of_memory = Finding.objects.of_memory(memory.store_id, memory.pk).filter(state=FindingState.DISMISSED)
    return of_memory.order_by().values("memory_id")[:MOST].count()


@register.simple_tag
def open_everywhere(user: User) -> int:
    """How many findings are open in the stores of a person, up to MOST_EVERYWHERE."""
    stores = MemoryStore.objects.visible_to(user).order_by().values("pk")
    found = Finding.objects.filter(store_id__in=stores).open()
    return found.order_by().values("store_id")[:MOST_EVERYWHERE].count()
