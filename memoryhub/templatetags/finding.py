"""The button and the dialog of the palette, which are on every page and therefore cached as HTML."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()

_PLACE = "memstore_here"
"""The placeholder for the store's id in the cached HTML."""


@register.simple_tag(takes_context=True)
def search_bar(context: template.Context) -> SafeString:
    """Return the button that opens the palette."""
    return _of_store(context, "search/_topbar.html")


@register.simple_tag(takes_context=True)
def palette_dialog(context: template.Context) -> SafeString:
    """Return the dialog of the palette and of the path finder."""
    return _of_store(context, "search/_dialog.html")


def _of_store(context: template.Context, name: str) -> SafeString:
    store_id = getattr(context.get("store"), "id", None)
    kept = _rendered(name, get_language(), store_id is not None)
    return mark_safe(kept.replace(_PLACE, store_id)) if store_id else kept


@lru_cache(maxsize=100)
def _rendered(name: str, language: str | None, with_store: bool) -> SafeString:
    return render_to_string(name, {"store_id": _PLACE if with_store else ""})
