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
    """Return what keeps a memory, and what policies will do to it, by two indexed queries."""
    return retention_due.kept(memory, timezone.now())


@register.simple_tag
def holds_over(store: MemoryStore, path: str, memory: str = "") -> list[Hold]:
    """Return the legal hold on a directory or a memory, then the pin; both may be missing."""
    return retention_due.over(store.pk, memory, path, timezone.now())


@register.simple_tag(takes_context=True)
def kept_until(context: template.Context, memory: Memory) -> datetime | None:
    """Return when a memory in the trash will be deleted permanently, or None.

    The policies are loaded once per page.
    """
    saved: list[Policy] | None = context.get("_policies")
    if saved is None:
        saved = policies.concerning(memory.store_id)
        context.dicts[0]["_policies"] = saved
    due = retention_due.fate_of(memory, saved, timezone.now()).due
    return due.at if due else None
