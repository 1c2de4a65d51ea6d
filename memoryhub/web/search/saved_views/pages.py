"""The pages whose filters can be saved: their routes and labels, and the URLs of saved filters."""

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
    """A page whose filters can be saved. `name` is the name of its route; `of_store` means that its URL contains a
    store."""

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
"""The only pages whose filters can be saved, so that a saved view never leads to an arbitrary URL."""


def address(page: str, store_id: str | None, query: str) -> str | None:
    """Return the URL of a view, or None if its page or store no longer exists."""
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
    """Return the filter from a page's query string in canonical form. The position in the list is left out."""
    given, kept = QueryDict(query[: LONGEST_QUERY * 4]), QueryDict(mutable=True)
    for name in sorted(given):
        if name not in _PAGING and any(given.getlist(name)):
            kept.setlist(name, [value for value in given.getlist(name) if value])
    return kept.urlencode()
