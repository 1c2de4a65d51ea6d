"""Whom to ask on the pages that delete: who erases for good, and whether a second person has to allow it."""

from django import template

from memoryhub.actions.accounts import second_person
from memoryhub.models import MemoryStore
from memoryhub.web.common.guards import erasers

register = template.Library()


@register.simple_tag
def who_erases(store: MemoryStore) -> str:
    """Return whom to ask, for the end of a sentence."""
    return erasers.who_erases([store.pk])


@register.simple_tag
def asks_second_person() -> bool:
    """Return whether acts that cannot be undone need a second person."""
    return second_person.is_on()
