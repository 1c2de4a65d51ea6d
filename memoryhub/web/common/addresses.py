"""URLs of directory pages. A path may contain any character, so pages build these URLs only here."""

from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse

from memoryhub.pure.protocol import paths


@dataclass(frozen=True, slots=True)
class Crumb:
    """One link of a breadcrumb trail: the memory store or a directory."""

    name: str
    url: str


def of_directory(store_id: str, path: str, **query: str) -> str:
    """Return the URL of a directory's page. For the root directory, this is the page of the memory store."""
    return _at("directory" if path else "store", store_id, path) + _query(query)


def of_children(store_id: str, path: str, **query: str) -> str:
    """Return the URL from which the tree loads the direct children of a directory."""
    return _at("tree_children", store_id, path) + _query(query)


def of_act(name: str, store_id: str, path: str) -> str:
    """Return the URL of a page that acts on a directory. `name` is the route of the page."""
    return _at(name, store_id, path)


def crumbs(store_id: str, store_name: str, path: str) -> list[Crumb]:
    """Return links to the memory store and to each directory above a path."""
    above = paths.ancestors(path)
    return [Crumb(paths.name(place) or store_name, of_directory(store_id, place)) for place in above]


def _at(route: str, store_id: str, path: str) -> str:
    return reverse(route, args=[store_id, path[1:]] if path else [store_id])


def _query(query: dict[str, str]) -> str:
    if not query:
        return ""
    made = QueryDict(mutable=True)
    made.update(query)
    return "?" + made.urlencode()
