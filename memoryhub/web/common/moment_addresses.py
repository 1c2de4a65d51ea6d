"""The addresses of a store as it was after one entry: of its directories, its memories, and the way to a moment."""

from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse

from memoryhub.protocol import paths
from memoryhub.web.common.addresses import Crumb


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a store somebody looks at: everything, the directory at `path`, or one memory (its id)."""

    path: str = ""
    memory: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """What a form or an address carries so that the next moment shows the same."""
        return {name: value for name, value in (("path", self.path), ("memory", self.memory)) if value}


def of_moment(store_id: str, seq: int, path: str = "", **more: str) -> str:
    """A directory as it was after an entry; the root's is the store's."""
    if not path:
        return reverse("moment", args=[store_id, seq]) + query(more)
    return reverse("moment_directory", args=[store_id, seq, path[1:]]) + query(more)


def of_memory(store_id: str, seq: int, memory_id: str) -> str:
    """A memory as it was after an entry."""
    return reverse("moment_memory", args=[store_id, seq, memory_id])


def of_scope(store_id: str, seq: int, scope: Scope) -> str:
    """Whatever somebody looks at, after another entry."""
    return of_memory(store_id, seq, scope.memory) if scope.memory else of_moment(store_id, seq, scope.path)


def of_choice(store_id: str, scope: Scope, **more: str) -> str:
    """The page that leads to a moment."""
    return reverse("moments", args=[store_id]) + query(scope.fields | more)


def of_restore(store_id: str, seq: int, scope: Scope) -> str:
    """The preview of making the same again what it was after an entry."""
    return reverse("restore_moment", args=[store_id, seq]) + query(scope.fields)


def of_changes(store_id: str, first: object, last: object, **more: str) -> str:
    """What changed between two moments."""
    return reverse("changes", args=[store_id]) + query({"from": str(first), "to": str(last)} | more)


def crumbs(store_id: str, store_name: str, seq: int, path: str) -> list[Crumb]:
    """The store and the directories above a path, as they were after an entry."""
    above = paths.ancestors(path)
    return [Crumb(paths.name(place) or store_name, of_moment(store_id, seq, place)) for place in above]


def query(values: dict[str, str]) -> str:
    """A query string, with what is empty left out."""
    made = QueryDict(mutable=True)
    made.update({name: value for name, value in values.items() if value})
    return "?" + made.urlencode() if made else ""
