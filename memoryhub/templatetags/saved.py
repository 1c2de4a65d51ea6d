"""The saved views of the current page, for the menu next to its filter."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse

from memoryhub.models import MemoryStore, SavedView
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.request import Request
from memoryhub.web.search.saved_views import Row, rows_of
from memoryhub.web.search.saved_views.pages import PAGES, kept_query

register = template.Library()


@dataclass(frozen=True, slots=True)
class Menu:
    """The saved views of a page. `current` is the view with the page's current filter.

    `save_url` is the address at which the current filter can be saved.
    """

    rows: list[Row]
    current: SavedView | None
    save_url: str


@register.simple_tag(takes_context=True)
def saved_views(context: Context, page: str) -> Menu | None:
    """Return the saved views of a page; None if its filters cannot be saved.

    If the page belongs to a store, only the views of the `store` in the context are returned.
    """
    request: Request | None = context.get("request")
    store: MemoryStore | None = context.get("store") if page in PAGES and PAGES[page].of_store else None
    if request is None or page not in PAGES or (PAGES[page].of_store and store is None):
        return None
    user, query = person(request), kept_query(request.GET.urlencode())
    views = SavedView.objects.visible_to(user).of_page(page)
    rows = [row for row in rows_of(user, views.filter(store=store) if store else views) if row.url]
    current = next((row.view for row in rows if query and kept_query(row.view.query) == query), None)
    given: dict[str, Any] = {"page": page, "query": query} | ({"store": store.pk} if store else {})
    return Menu(rows, current, f"{reverse('save_view')}?{urlencode(given)}")
