"""Findings on pages of memories and versions: the names of their kinds, and the open findings of a memory."""

from django import template
from django.utils import timezone

from memoryhub.models import Finding, FindingState, Memory, MemoryVersion
from memoryhub.web.common.texts import kinds
from memoryhub.web.findings.rows import Item, items_of
from memoryhub.web.sessions.spread import Spread, carriers, spread

register = template.Library()

FEW = 3
"""The most open findings that a memory's page shows above the text."""

LOOKED_AT = 20

MOST = 100
"""Counting the findings of a memory stops at this number."""


@register.filter
def kind_label(kind: str) -> str:
    return kinds.label(kind)


@register.filter
def kind_group(kind: str) -> str:
    return kinds.group_of(kind).value


@register.simple_tag
def open_findings(memory: Memory) -> int:
    """Return how many findings of a memory are open, but at most MOST, by one indexed query."""
    of_memory = Finding.objects.of_memory(memory.store_id, memory.pk).open()
    return of_memory.order_by().values("memory_id")[:MOST].count()


@register.simple_tag(takes_context=True)
def first_findings(context: template.Context, memory: Memory) -> list[Item]:
    """Return up to FEW open findings of a memory as items to show: the worst kinds first, and the oldest first within a
    kind."""
    of_memory = Finding.objects.of_memory(memory.store_id, memory.pk).open().order_by(kinds.rank(), "id")
    ids = list(of_memory.values_list("pk", flat=True)[:FEW])
    return items_of(ids, context["request"].user, timezone.now()) if ids else []


@register.simple_tag(takes_context=True)
def findings_in(context: template.Context, version: MemoryVersion) -> list[Item]:
    """Return up to FEW open findings whose value is in `version`, in the order of `first_findings`.

    Only the worst LOOKED_AT open findings of the version's memory are checked.
    """
    of_memory = Finding.objects.of_memory(version.store_id, version.memory_id).open().order_by(kinds.rank(), "id")
    ids = list(of_memory.values_list("pk", flat=True)[:LOOKED_AT])
    items = items_of(ids, context["request"].user, timezone.now()) if ids else []
    return [one for one in items if one.is_in(version)][:FEW]


@register.simple_tag(takes_context=True)
def spread_of(context: template.Context, item: Item) -> Spread | None:
    """Return how the text of a finding has spread; None if the finding is in a path or no longer exists."""
    of_value = carriers(item.finding, item.memory, item.version)
    return spread(of_value, item.store, item.entry, context["request"].user) if of_value else None


@register.simple_tag
def dismissed_findings(memory: Memory) -> int:
    """Return how many findings of a memory were dismissed, but at most MOST."""
    of_memory = Finding.objects.of_memory(memory.store_id, memory.pk).filter(state=FindingState.DISMISSED)
    return of_memory.order_by().values("memory_id")[:MOST].count()
