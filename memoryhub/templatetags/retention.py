"""Pins, legal holds and retention of a memory, on the pages of memories and directories."""

from datetime import datetime

from django import template
from django.utils import timezone

from memoryhub.actions.core.rules.holds import Holds, holds_of
from memoryhub.actions.retention import policies
from memoryhub.models import Hold, Memory, MemoryStore
from memoryhub.pure.retention_rules import Policy
from memoryhub.web.retention import due as retention_due
from memoryhub.web.retention.due import Kept
from memoryhub.web.retention.holds import held

register = template.Library()


@register.simple_tag
def kept_of(memory: Memory) -> Kept:
    """Return which holds and pins keep a memory, and what retention policies will do to the memory."""
    return retention_due.kept(memory, timezone.now())


@register.simple_tag
def holds_over(store: MemoryStore, path: str, memory: str = "") -> list[Hold]:
    """Return the legal hold and the pin that keep the directory `path`, or the memory with the id `memory`.

    The list contains both, one of them or nothing, depending on which exist.
    """
    return retention_due.over(store.pk, memory, path, timezone.now())


@register.simple_tag
def hold_fixing(store: MemoryStore, path: str, memory: str = "") -> list[held.Kept]:
    """Return a list with the legal hold that forbids renaming the directory `path`, or the memory with the id `memory`.

    The list is empty if nothing forbids it.
    """
    found = held.fixing(store, path, timezone.now(), memory)
    return [found] if found else []


@register.simple_tag(takes_context=True)
def kept_in_trash(context: template.Context, memory: Memory) -> Kept:
    """Return which holds and policies keep a memory in the trash, and until when they keep it."""
    rules: tuple[list[Policy], Holds, datetime] | None = context.get("_rules")
    if rules is None:
        now = timezone.now()
        rules = policies.concerning(memory.store_id), holds_of(memory.store_id, now), now
        context.dicts[0]["_rules"] = rules
    return retention_due.kept_by(memory, *rules)
