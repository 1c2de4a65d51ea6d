"""Template tags of comments."""

from django import template

from memoryhub.actions.comments import notices
from memoryhub.models import MemoryStore, User

register = template.Library()

MOST = 100
"""The most comments that the number in the bar counts."""


@register.simple_tag
def told_of(user: User) -> int:
    """Return of how many conversations a person was told and has not put away, up to MOST."""
    stores = MemoryStore.objects.visible_to(user).order_by().values("pk")
    return notices.waiting_for(user, stores).order_by().values("store_id")[:MOST].count()
