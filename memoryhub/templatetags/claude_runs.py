"""Claude runs on pages: whether a person may run Claude in a store, and numbers of tokens."""

from typing import Any

from django import template

from memoryhub.actions.claude_runs import configuration
from memoryhub.models import MemoryStore, Role, User
from memoryhub.web.common import pictures

register = template.Library()


@register.filter
def thousands(value: int) -> str:
    """Return a number with thousands separators."""
    return pictures.number(value)


@register.simple_tag(takes_context=True)
def may_run_claude(context: template.Context, store: MemoryStore) -> bool:
    """Return whether the person may run Claude in this store, whether or not the hub has a key for Claude."""
    user: Any = context["user"]
    known: dict[str, bool] = context.dicts[0].setdefault("_may_run_claude", {})
    if store.pk not in known:
        role: Role | None = context.get("role")
        is_enough = configuration.role_may_run(role) if role else configuration.may_run(user, store)
        known[store.pk] = isinstance(user, User) and is_enough
    return known[store.pk]
