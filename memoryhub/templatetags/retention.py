"""Pins, legal holds and retention of a memory, on the pages of memories and directories."""

from datetime import datetime

from django import template
from django.utils import timezone

from memoryhub.actions.retention import policies
from memoryhub.models import Hold, Memory, MemoryStore
from memoryhub.retention_rules import Policy
from memoryhub.web.retention import due as retention_due
from memoryhub.web.retention.due import Kept

register = template.Library()


@register.simple_tag
def kept_of(memory: Memory) -> Kept:
    """What keeps a memory, and what policies will do to it: two indexed queries."""
    return retention_due.kept(memory, timezone.now())


@register.simple_tag
def holds_over(store: MemoryStore, path: str, memory: str = "") -> list[Hold]:
    """The legal hold and the pin over a directory or a memory, or over the store."""
    return retention_due.over(store.pk, memory, path, timezone.now())


@register.simple_tag(takes_context=True)
def kept_until(context: template.Context, memory: Memory) -> datetime | None:
    """When a memory in the trash is gone for good; null: never by itself. The page asks for its policies once."""
    saved: list[Policy] | None = context.get("_policies")
    if saved is None:
        saved = policies.concerning(memory.store_id)
        context.dicts[0]["_policies"] = saved
    due = retention_due.fate_of(memory, saved, timezone.now()).due
    return due.at if due else None
