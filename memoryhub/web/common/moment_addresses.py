"""URLs of pages that show a store as it was after one audit entry: its directories, memories and changes."""

from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse

from memoryhub.pure.protocol import paths
from memoryhub.web.common.addresses import Crumb


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a store that a page shows: everything, the directory at `path`, or one memory by its id."""

    path: str = ""
    memory: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """Return the form fields or query parameters that keep this scope on the next page."""
        return {name: value for name, value in (("path", self.path), ("memory", self.memory)) if value}


def of_moment(store_id: str, seq: int, path: str = "", **more: str) -> str:
    """Return the URL of a directory as it was after the entry `seq`; an empty path is the root directory."""
    if not path:
        return reverse("moment", args=[store_id, seq]) + query(more)
    return reverse("moment_directory", args=[store_id, seq, path[1:]]) + query(more)


def of_memory(store_id: str, seq: int, memory_id: str) -> str:
    """Return the URL of a memory as it was after the entry `seq`."""
    return reverse("moment_memory", args=[store_id, seq, memory_id])


def of_scope(store_id: str, seq: int, scope: Scope) -> str:
    """Return the URL of a scope as it was after the entry `seq`."""
    return of_memory(store_id, seq, scope.memory) if scope.memory else of_moment(store_id, seq, scope.path)


def of_choice(store_id: str, scope: Scope, **more: str) -> str:
    """Return the URL of the page on which a person chooses a moment."""
    return reverse("moments", args=[store_id]) + query(scope.fields | more)


def of_restore(store_id: str, seq: int, scope: Scope) -> str:
    """Return the URL of the preview for restoring a scope to its state after the entry `seq`."""
    return reverse("restore_moment", args=[store_id, seq]) + query(scope.fields)


def of_changes(store_id: str, first: object, last: object, **more: str) -> str:
    """Return the URL of the changes between two moments."""
    return reverse("changes", args=[store_id]) + query({"from": str(first), "to": str(last)} | more)


def crumbs(store_id: str, store_name: str, seq: int, path: str) -> list[Crumb]:
    """Return links to the store and to each directory above a path, as they were after the entry `seq`."""
    above = paths.ancestors(path)
    return [Crumb(paths.name(place) or store_name, of_moment(store_id, seq, place)) for place in above]


def query(values: dict[str, str]) -> str:
    """Return a query string with the question mark and without empty values."""
    made = QueryDict(mutable=True)
    made.update({name: value for name, value in values.items() if value})
    return "?" + made.urlencode() if made else ""
