"""Whom to ask to erase something for good, on the pages that delete."""

from django import template

from memoryhub.models import MemoryStore
from memoryhub.web.common import erasers

register = template.Library()


@register.simple_tag
def who_erases(store: MemoryStore) -> str:
    """Return whom to ask, for the end of a sentence."""
    return erasers.who_erases([store.pk])
