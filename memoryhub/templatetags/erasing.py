"""Sentences on pages that delete: who can erase permanently, and whether a second person has to allow it."""

from django import template

from memoryhub.actions.accounts import second_person
from memoryhub.models import MemoryStore
from memoryhub.web.common.guards import erasers

register = template.Library()


@register.simple_tag
def who_erases(store: MemoryStore) -> str:
    """Return the names of the people who can erase texts of the store, as words for the end of a sentence."""
    return erasers.who_erases([store.pk])


@register.simple_tag
def asks_second_person() -> bool:
    """Return whether acts that cannot be undone need a second person."""
    return second_person.is_on()
