"""A store's usage of its limits, on the store's own page."""

from django import template

from memoryhub.models import HubSettings, MemoryStore
from memoryhub.web.stores.limits import usage
from memoryhub.web.stores.limits.usage import Meter

register = template.Library()


@register.simple_tag
def usage_of(store: MemoryStore) -> list[Meter]:
    """Return the meters of a store: how much of each limit is used.

    The meter of the audit is left out while the audit is far from its limit.
    """
    return usage.near(store, HubSettings.current())
