"""The pages whose filters can be kept: their routes, what people call them, and the address of a kept filter."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.models import SavedView

LONGEST_QUERY = 2000
_PAGING = ("before", "after", "cursor", "at", "seq")


@dataclass(frozen=True, slots=True)
class FilterPage:
    """A route by its name; `of_store`: its address has a store in it."""

    name: str
    label: str | Promise
    of_store: bool


PAGES: Mapping[str, FilterPage] = {
    page.name: page
    for page in (
        FilterPage("audit", _("Audit"), False),
        FilterPage("store_audit", _("Audit of a store"), True),
        FilterPage("search", _("Search"), False),
        FilterPage("review", _("Review"), False),
        FilterPage("trash", _("Trash"), True),
    )
}
"""Nothing else can be kept: a saved view never leads to an address that somebody typed."""


def address(page: str, store_id: str | None, query: str) -> str | None:
    """Where a view leads; null for a page that there is not."""
    found = PAGES.get(page)
    if found is None or (found.of_store and not store_id):
        return None
    try:
        place = reverse(page, args=[store_id] if found.of_store else [])
    except NoReverseMatch:
        return None
    kept = kept_query(query)
    return f"{place}?{kept}" if kept else place


def address_of(view: SavedView) -> str | None:
    return address(view.page, view.store_id, view.query)


def kept_query(query: str) -> str:
    """What of a page's query is the filter: not the place in the list. Written as one writes it, always alike."""
    given, kept = QueryDict(query[: LONGEST_QUERY * 4]), QueryDict(mutable=True)
    for name in sorted(given):
        if name not in _PAGING and any(given.getlist(name)):
            kept.setlist(name, [value for value in given.getlist(name) if value])
    return kept.urlencode()
