"""Claude runs on pages: whether a person may run Claude in a store, and numbers of tokens."""

from typing import Any

from django import template

from memoryhub.actions.claude_runs import configuration
from memoryhub.models import MemoryStore, User
from memoryhub.web.common import pictures

register = template.Library()


@register.filter
def thousands(value: int) -> str:
    """Return a number with thousands separators."""
    return pictures.number(value)


@register.simple_tag(takes_context=True)
def may_run_claude(context: template.Context, store: MemoryStore) -> bool:
    """Return whether the person may run Claude in this store. Without a key, the page says what is missing."""
    user: Any = context["user"]
    return isinstance(user, User) and configuration.may_run(user, store)
