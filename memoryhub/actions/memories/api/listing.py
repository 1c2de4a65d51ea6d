"""Pages of memories in the form of the API, in byte order of their paths. Deeper levels can be shown as directories."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from memoryhub.actions.core import sql, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.rules.sight import Sight, sight_in
from memoryhub.actions.core.sql import lists
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories import input_masking
from memoryhub.actions.memories.api import MemoryTold, note_call, told_of, view
from memoryhub.actions.memories.api.requests import Asked, on_store
from memoryhub.pure import ids
from memoryhub.pure.protocol import paths

T = TypeVar("T")

Item = MemoryTold | str
"""A memory, or the path of a directory with its final slash."""


class Read(NamedTuple):
    """A text on a page. `memory` and `version` are ids; `told` is the input for the entry of the read."""

    memory: str
    version: str
    path: str
    content: str
    told: dict[str, str | None]


class Page(NamedTuple):
    """The items of a page. `next` is the position after which the next page begins; None if this is the last page."""

    items: list[Item]
    next: str | None


class Wanted(NamedTuple):
    """The filters of a list of memories. `directory` is the directory to list (`""`: all memories).

    With `children`, the list has only direct children; with `full`, also texts; with `sight`, only memories that the
    agent sees. `after` is the position of the last item on the previous page.
    """

    directory: str
    children: bool
    full: bool
    limit: int
    after: str | None
    sight: Sight | None = None


def memories(store_id: str, wanted: Wanted, asked: Asked) -> Page:
    """Return a page of memories. Each text on it is recorded as a read, with an entry."""
    if not wanted.full:
        note_call(store_id, asked)
        return _page(store_id, wanted._replace(sight=sight_in(store_id, asked.caller.actor, asked.at)))

    def work(store: Tree) -> tuple[Page, list[Read]]:
        page = _page(store_id, wanted._replace(sight=store.sight))
        found = [item for item in page.items if isinstance(item, MemoryTold)]
        return page, [Read(item.id, item.head, item.path, item.content or "", {"memory": item.id}) for item in found]

    return reading(store_id, asked, work)


def reading(store_id: str, asked: Asked, look: Callable[[Tree], tuple[T, Sequence[Read]]]) -> T:
    """Run `look` in the locked store and return its result. Write one entry for each text that `look` lists.

    `look` returns (result, texts). The entries of several texts are one group.
    """

    def work(store: Tree) -> tuple[T, None]:
        result, texts = look(store)
        if len(texts) > 1:
            store.act = store.act._replace(group=ids.new_id(ids.GROUP, store.at))
        for read in texts:
            record = view(store, read.memory, read.version, read.path, read.content)
            tree.commit(store, input_masking.of_api(store, record, read.told))
        return result, None

    return on_store(store_id, asked, Record("view"), work)


def _page(store_id: str, wanted: Wanted) -> Page:
    low, high = paths.subtree(wanted.directory)
    start = low if wanted.after is None else max(low, _past(wanted.after))
    if wanted.sight:
        return _seen(store_id, wanted, wanted.sight, start, high)
    found = _children if wanted.children else _beneath
    return found(store_id, wanted, start, high)


def _seen(store_id: str, wanted: Wanted, sight: Sight, start: str, high: str) -> Page:
    """Return a page of the memories that an agent with this sight sees."""
    places = [place for (place,) in sql.rows(lists.PATHS, store_id, start, high) if sight.sees(place)]
    if wanted.children:
        places = list(dict.fromkeys(_shown(place, len(wanted.directory) + 1) for place in places))
    return _items(store_id, wanted, places[: wanted.limit], more=len(places) > wanted.limit)


def _past(shown: str) -> str:
    """Return a path that sorts after `shown` and everything under it, and before the next item."""
    # There is such a path, because no name has a character below a space.
    return shown[:-1] + "0" if shown.endswith("/") else shown + "\1"


def _beneath(store_id: str, wanted: Wanted, start: str, high: str) -> Page:
    statement = lists.MEMORIES_FULL if wanted.full else lists.MEMORIES_BASIC
    rows = sql.rows(statement, store_id, start, high, wanted.limit + 1)
    items: list[Item] = [told_of(row) for row in rows[: wanted.limit]]
    return Page(items, rows[wanted.limit - 1][1] if len(rows) > wanted.limit else None)


def _children(store_id: str, wanted: Wanted, start: str, high: str) -> Page:
    """Return a page of direct children.

    One query finds the paths, and another reads the memories. A memory that is deleted between them is left out; the
    next page follows as usual.
    """
    prefix = wanted.directory + "/"
    places = lists.children(store_id, prefix, start, high, wanted.limit + 1)
    shown = [_shown(place, len(prefix)) for place in places[: wanted.limit]]
    return _items(store_id, wanted, shown, more=len(places) > wanted.limit)


def _items(store_id: str, wanted: Wanted, shown: Sequence[str], *, more: bool) -> Page:
    """Return the page of the items at these paths. A path with a final slash is that of a directory."""
    own = [path for path in shown if not path.endswith("/")]
    rows = {row[1]: told_of(row) for row in lists.memories_at(store_id, own, full=wanted.full)}
    items = [path if path.endswith("/") else rows.get(path) for path in shown]
    return Page([item for item in items if item is not None], shown[-1] if more else None)


def _shown(place: str, start: int) -> str:
    """Cut `place` after the name that begins at `start`, and return it.

    The result is the path of a memory, or the path of a directory with a final slash.
    """
    end = place.find("/", start)
    return place if end < 0 else place[: end + 1]
