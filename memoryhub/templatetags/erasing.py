"""Whom to ask to erase something for good, on the pages that delete."""

from django import template

from memoryhub.models import MemoryStore
from memoryhub.web.common import erasers

register = template.Library()


@register.simple_tag
def who_erases(store: MemoryStore) -> str:
    """Return the names of some admins of a memory store."""
    return erasers.who_erases([store.pk])
