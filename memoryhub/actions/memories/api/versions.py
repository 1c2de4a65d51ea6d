"""Memory versions in the form of the API: one version, or pages of versions, newest first.

With some filters, a page has two sources: the versions made in this hub, and the imported ones. One search checks at
most about MOST_LOOKED_AT rows of each source against the filters. So a page can be shorter than its limit, or empty,
although another page follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryhub.actions.core import sql
from memoryhub.actions.core.rules.sight import Sight, sees, sight_in
from memoryhub.actions.core.sql import lists
from memoryhub.actions.core.sql.lists import BY_NUMBER, BY_SEQ, Condition
from memoryhub.actions.core.transactions import let_others
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories.api import note_call
from memoryhub.actions.memories.api.listing import Read, reading
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.models import AuditChain, AuditEntry, Key
from memoryhub.models.audit import LAST_SEQ, ActorKind

MOST_LOOKED_AT = 5_000
"""The most versions, or entries, that one page checks."""

MOST_HIDDEN = 20_000
"""The most versions that are read to fill a page for an agent from which versions are hidden."""

Position = tuple[int, str]
"""A version's position: its seq and id; in the list of one memory, its number and an empty text."""


class NoSuchVersion(Exception):
    """The store has no version with this id."""


class VersionTold(NamedTuple):
    """A version in the form of the API. `origin` is JSON text with the author of an imported version, else None."""

    id: str
    memory: str
    operation: str
    path: str | None
    size: int | None
    sha256: str | None
    created_at: datetime | str
    seq: int
    number: int
    redacted_at: datetime | str | None
    origin: str | None
    kind: str | None
    actor: str | None
    session: str | None
    redacted_by_kind: str | None
    redacted_by: str | None
    redacted_by_session: str | None
    content: str | None


@dataclass(frozen=True, slots=True)
class Author:
    """The author by whom a list of versions is filtered: the API's type of the actor, and the actor's id."""

    type: str
    id: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a list of versions; None means no filter. `after` is the last position of the previous page."""

    memory: str | None
    operation: str | None
    authors: tuple[Author, ...]
    start: datetime | None
    end: datetime | None
    full: bool
    limit: int
    after: Position | None


class Page(NamedTuple):
    """The versions of a page.

    `next` is the position after which the next page begins; None if this is the last page.
    """

    versions: list[VersionTold]
    next: Position | None


class _Part(NamedTuple):
    """The rows of a page that come from one source. The source was searched down to `reached` (None: to its end)."""

    rows: list[VersionTold]
    reached: Position | None


def retrieve(store_id: str, version_id: str, asked: Asked, *, full: bool) -> VersionTold:
    """Return one version. With `full`, it includes the text, and the read has an audit entry. Raises NoSuchVersion."""

    def find(sight: Sight | None) -> VersionTold:
        row = lists.version(store_id, version_id, full=full)
        if row is None or not seen(store_id, sight, [VersionTold(*row)]):
            raise NoSuchVersion(version_id)
        return VersionTold(*row)

    def work(store: Tree) -> tuple[VersionTold | NoSuchVersion, list[Read]]:
        try:
            found = find(store.sight)
        except NoSuchVersion as missing:
            return missing, []
        return found, _reads([found])

    if full:
        found = reading(store_id, asked, work)
        assert isinstance(found, VersionTold)  # `reading` raises NoSuchVersion
        return found
    note_call(store_id, asked)
    return find(sight_in(store_id, asked.caller.actor, asked.at))


def versions(store_id: str, wanted: Wanted, asked: Asked) -> Page:
    """Return a page of versions. Each text on it is recorded as a read, with an entry."""
    sight = sight_in(store_id, asked.caller.actor, asked.at)
    if not wanted.full:
        note_call(store_id, asked)
        return _page_for(sight, store_id, wanted)
    if sight is None:
        return reading(store_id, asked, lambda store: _with_reads(_page_for(store.sight, store_id, wanted)))
    let_others()
    page = _page_for(sight, store_id, replace(wanted, full=False))
    return reading(store_id, asked, lambda store: _with_reads(page._replace(versions=_whole(store, page.versions))))


def _whole(store: Tree, versions: Sequence[VersionTold]) -> list[VersionTold]:
    """Return versions with their texts. Versions that were removed or hidden after they were found are left out."""
    rows = [lists.version(store.store, version.id, full=True) for version in versions]
    return seen(store.store, store.sight, [VersionTold(*row) for row in rows if row is not None])


def seen(store_id: str, sight: Sight | None, versions: Sequence[VersionTold]) -> list[VersionTold]:
    """Return the versions that an actor with this sight sees (None: all of them).

    The actor must see the path of the version and the current path of its memory.
    """
    if sight is None:
        return list(versions)
    places = lists.paths_of(store_id, list({version.memory for version in versions}))
    return [version for version in versions if sees(sight, version.path, places.get(version.memory))]


def _with_reads(page: Page) -> tuple[Page, list[Read]]:
    return page, _reads(page.versions)


def _reads(found: Sequence[VersionTold]) -> list[Read]:
    return [
        Read(version.memory, version.id, version.path, version.content, {"version": version.id})
        for version in found
        if version.content is not None and version.path is not None and version.redacted_at is None
    ]


# ------------------------------------------------------------------------------------------------ pages


def _page_for(sight: Sight | None, store_id: str, wanted: Wanted) -> Page:
    """Return the page that an agent sees, filled up with further versions instead of hidden ones."""
    page = _page(store_id, wanted)
    if sight is None:
        return page
    # The length of a page must not reveal hidden versions.
    versions, scanned = seen(store_id, sight, page.versions), len(page.versions)
    while page.next is not None and len(versions) <= wanted.limit and scanned < MOST_HIDDEN:
        page = _page(store_id, replace(wanted, after=page.next))
        versions, scanned = versions + seen(store_id, sight, page.versions), scanned + len(page.versions)
    if len(versions) <= wanted.limit:
        return Page(versions, page.next)
    place = _number_of if wanted.memory is not None else _seq_of
    return Page(versions[: wanted.limit], place(versions[wanted.limit - 1]))


def _page(store_id: str, wanted: Wanted) -> Page:
    """Return a page: the rows of all sources, newest first.

    The page ends at the lowest position to which every source was searched. Older rows come on a later page.
    """
    parts = _parts(store_id, wanted)
    place = _number_of if wanted.memory is not None else _seq_of
    floor = max((part.reached for part in parts if part.reached is not None), default=None)
    rows = sorted((row for part in parts for row in part.rows), key=place, reverse=True)
    if floor is not None:
        rows = [row for row in rows if place(row) >= floor]
    if len(rows) > wanted.limit:
        return Page(rows[: wanted.limit], place(rows[wanted.limit - 1]))
    return Page(rows, floor)


def _seq_of(version: VersionTold) -> Position:
    return version.seq, version.id


def _number_of(version: VersionTold) -> Position:
    return version.number, ""


def _parts(store_id: str, wanted: Wanted) -> list[_Part]:
    if len(wanted.authors) > 1:  # a version has one author
        return []
    if wanted.memory is not None:
        return [_of_memory(store_id, wanted)]
    if wanted.authors:
        return [_by_author(store_id, wanted, wanted.authors[0]), _imported(store_id, wanted)]
    if wanted.start or wanted.end:
        return [_within_time(store_id, wanted), _imported(store_id, wanted)]
    return [_walked([("v.store_id = %s", (store_id,)), *_before(wanted.after)], _plain(wanted), wanted)]


def _plain(wanted: Wanted) -> list[Condition]:
    """Return the conditions on a version's own columns, without the conditions on its author."""
    conditions: list[Condition] = []
    if wanted.operation is not None:
        conditions.append(("v.operation = %s", (wanted.operation,)))
    if wanted.start is not None:
        conditions.append(("v.created_at >= %s", (sql.moment(wanted.start),)))
    if wanted.end is not None:
        conditions.append(("v.created_at <= %s", (sql.moment(wanted.end),)))
    return conditions


def _before(after: Position | None) -> list[Condition]:
    return [] if after is None else [("(v.seq, v.id) < (%s, %s)", after)]


def _walked(base: list[Condition], filters: list[Condition], wanted: Wanted) -> _Part:
    """Return the rows that meet the conditions `base` and `filters`."""
    floor = lists.last_looked_at(base, BY_SEQ, "v.seq, v.id", MOST_LOOKED_AT) if filters else None
    bound: list[Condition] = [] if floor is None else [("(v.seq, v.id) >= (%s, %s)", floor)]
    return _part([*base, *filters, *bound], wanted, None if floor is None else (int(floor[0]), str(floor[1])))


def _part(conditions: list[Condition], wanted: Wanted, floor: Position | None) -> _Part:
    rows = lists.select_versions(conditions, BY_SEQ, wanted.limit + 1, full=wanted.full)
    return _found(rows, wanted, floor)


def _found(rows: list[sql.Row], wanted: Wanted, floor: Position | None) -> _Part:
    found = [VersionTold(*row) for row in rows]
    place = _number_of if wanted.memory is not None else _seq_of
    return _Part(found, place(found[-1]) if len(found) > wanted.limit else floor)


def _of_memory(store_id: str, wanted: Wanted) -> _Part:
    base: list[Condition] = [("v.store_id = %s and v.memory_id = %s", (store_id, wanted.memory))]
    if wanted.after is not None:
        base.append(("v.number < %s", wanted.after[:1]))
    filters = [*_plain(wanted), *(_any_of(_own(author), _brought(author)) for author in wanted.authors)]
    floor = lists.last_looked_at(base, BY_NUMBER, "v.number", MOST_LOOKED_AT) if filters else None
    bound: list[Condition] = [] if floor is None else [("v.number >= %s", floor)]
    rows = lists.select_versions([*base, *filters, *bound], BY_NUMBER, wanted.limit + 1, full=wanted.full)
    return _found(rows, wanted, None if floor is None else (int(floor[0]), ""))


def _any_of(one: Condition, other: Condition) -> Condition:
    return f"{one[0]} or {other[0]}", (*one[1], *other[1])


def _imported(store_id: str, wanted: Wanted) -> _Part:
    """Return imported versions. They are filtered by the times and the authors that were imported with them."""
    base = [("v.store_id = %s and v.origin is not null", (store_id,)), *_before(wanted.after)]
    return _walked(base, [*_plain(wanted), *map(_brought, wanted.authors)], wanted)


def _within_time(store_id: str, wanted: Wanted) -> _Part:
    """Return the versions that were made in this hub between two moments."""
    start, end = wanted.start, wanted.end and wanted.end + timedelta(microseconds=1)
    low, high = AuditEntry.objects.of_chain(store_id).seqs_near(start, end)
    removed = AuditChain.objects.filter(pk=store_id).values_list("start_seq", flat=True).first() or 0
    if removed:  # removed entries do not show when their versions were made
        low, high = (1 if low <= removed + 1 else low), max(high, removed)
    base = [("v.store_id = %s", (store_id,)), *_before(wanted.after)]
    if start is not None:
        base.append(("v.seq >= %s", (low,)))
    if end is not None:
        base.append(("v.seq <= %s", (high,)))
    return _walked(base, [*_plain(wanted), ("v.origin is null", ())], wanted)


# ------------------------------------------------------------------------------------------------ by author


def _by_author(store_id: str, wanted: Wanted, author: Author) -> _Part:
    """Return the versions that an author wrote in this hub.

    To find those of a key, the entries of all keys of its agent are searched.
    """
    column, value = _index_of(author)
    if value is None:
        return _Part([], None)
    top = LAST_SEQ if wanted.after is None else wanted.after[0]
    floor = lists.last_entry_looked_at(column, store_id, value, top, MOST_LOOKED_AT)
    conditions = [("v.store_id = %s", (store_id,)), *_before(wanted.after), *_plain(wanted), _own(author)]
    rows = lists.select_versions(
        conditions,
        BY_SEQ,
        wanted.limit + 1,
        full=wanted.full,
        entries=(column, (store_id, value, top, MOST_LOOKED_AT)),
    )
    return _found(rows, wanted, None if floor is None else (floor, ""))


def _index_of(author: Author) -> tuple[str, str | None]:
    """Return (indexed column of entries, value in it) for an author. The value is None for an unknown key."""
    if author.type == "session_actor":
        return "session", author.id
    if author.type == "service_account_actor":
        return "author_id", author.id
    return "author_id", Key.objects.filter(pk=author.id).values_list("agent_id", flat=True).first()


def _own(author: Author) -> Condition:
    """Return the condition for versions that this author wrote in this hub."""
    if author.type == "session_actor":
        # A version that a key wrote in a session counts as the session's, as in `api/objects.py`.
        return "v.origin is null and e.actor_kind = %s and e.session = %s", (ActorKind.KEY.value, author.id)
    kind = ActorKind.POLICY if author.type == "service_account_actor" else ActorKind.KEY
    session = "" if kind == ActorKind.POLICY else " and e.session is null"
    return f"v.origin is null and e.actor_kind = %s and e.actor_id = %s{session}", (kind.value, author.id)


def _brought(author: Author) -> Condition:
    return lists.origin_of(author.type, author.id)
