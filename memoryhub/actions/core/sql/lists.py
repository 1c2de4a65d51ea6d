"""The SQL of the API's reads (a memory, a version, a page of a list) and of the conditions of path rules.

The cost of a statement does not depend on the store's size.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from django.db import connection

from memoryhub.actions.core import sql
from memoryhub.actions.core.sql import Row, Statement
from memoryhub.pure import chain
from memoryhub.pure.protocol import paths

_json = json.JSONEncoder(ensure_ascii=True).encode
_FIND = "instr" if connection.vendor == "sqlite" else "strpos"

COUNTS_CALLS = Statement(
    "select 1 from memoryhub_memorystore s left join memoryhub_hubsettings h on h.id = 1"
    " where s.id = %s and coalesce(s.limit_calls, h.limit_calls) is not null"
)

MEMORY = Statement(
    "select m.id, m.path, m.head_id, m.text_id, m.size, m.sha256, m.version_count, m.removed_versions, t.content,"
    " m.created_at, m.updated_at from memoryhub_memory m"
    " join memoryhub_memorytext t on t.store_id = m.store_id and t.id = m.text_id"
    " where m.store_id = %s and m.id = %s and m.deleted_at is null"
)
_TOLD = "m.id, m.path, m.head_id, m.size, m.sha256, m.created_at, m.updated_at"
_LIVE = "m.store_id = %s and m.deleted_at is null"
MEMORY_WITHOUT_TEXT = Statement(f"select {_TOLD}, null from memoryhub_memory m where {_LIVE} and m.id = %s")
FIRST_BENEATH = Statement(
    f"select m.path, m.id from memoryhub_memory m where {_LIVE} and m.path >= %s and m.path < %s"
    " order by m.path limit 1"
)

_MARKER = f"(m.path >= '{paths.SYNC_MARKER}/' and m.path < '{paths.SYNC_MARKER}0' or m.path = '{paths.SYNC_MARKER}')"
_PAGE = f"{_LIVE} and m.path >= %s and m.path < %s and not {_MARKER} order by m.path limit %s"
_WITH_TEXT = "memoryhub_memory m join memoryhub_memorytext t on t.store_id = m.store_id and t.id = m.text_id"
PATHS = Statement(
    f"select m.path from memoryhub_memory m where {_LIVE} and m.path >= %s and m.path < %s and not {_MARKER}"
    " order by m.path"
)
MEMORIES_BASIC = Statement(f"select {_TOLD}, null from memoryhub_memory m where {_PAGE}")
MEMORIES_FULL = Statement(f"select {_TOLD}, t.content from {_WITH_TEXT} where {_PAGE}")

_NAME_ENDS = f"{_FIND}(substr(w.place, %s), '/')"
_AFTER_NAME = (
    f"case when {_NAME_ENDS} > 0 then substr(w.place, 1, %s + {_NAME_ENDS} - 2) || '0' else w.place || ' ' end"
)
_FIRST_FROM = (
    f"(select m.path from memoryhub_memory m where {_LIVE} and m.path >= {{start}} and m.path < %s"
    f" and not {_MARKER} order by m.path limit 1)"
)
CHILDREN = Statement(
    "with recursive walk (place, step) as ("
    f"select {_FIRST_FROM.format(start='%s')}, 1 union all"
    f" select {_FIRST_FROM.format(start=_AFTER_NAME)}, w.step + 1"
    " from walk w where w.place is not null and w.step < %s)"
    " select place from walk where place is not null"
)


def children(store: str, prefix: str, start: str, high: str, limit: int) -> list[str]:
    """Return one path for each direct child of a directory, in byte order; at most `limit` paths.

    If the child is a memory, this is the memory's path. If the child is a directory, this is the path of the first
    memory in it. `prefix` is the path of the directory whose children are returned, with its final slash. The search
    covers the paths from `start` up to, but not including, `high`.
    """
    name = len(prefix) + 1
    found = sql.rows(CHILDREN, store, start, high, store, name, name, name, high, limit)
    return [place for (place,) in found]


def memories_at(store: str, places: Sequence[str], *, full: bool) -> list[Row]:
    """Return the live memories at these paths, with the same columns as a page of a list. `full` adds the text."""
    if not places:
        return []
    table, content = (_WITH_TEXT, "t.content") if full else ("memoryhub_memory m", "null")
    text = f"select {_TOLD}, {content} from {table} where {_LIVE} and m.path in ({{paths}})"
    return sql.rows(sql.for_paths(text, len(places)), store, *places)


def moment(value: datetime | str) -> str:
    """Return a time in the format of the API. `value` is what the database's driver returns (SQLite: text without a
    zone)."""
    if isinstance(value, datetime):
        return chain.moment(value)
    return value.replace(" ", "T") + ("Z" if "." in value else ".000000Z")


# ------------------------------------------------------------------------------------------------ versions

_VERSION = (
    "v.id, v.memory_id, v.operation, v.path, v.size, v.sha256, v.created_at, v.seq, v.number, v.redacted_at, v.origin,"
    " e.actor_kind, e.actor_id, e.session, r.actor_kind, r.actor_id, r.session, "
)
_ACTORS = (
    " left join memoryhub_auditentry e on e.chain = v.store_id and e.seq = v.seq"
    " left join memoryhub_auditentry r on r.chain = v.store_id and r.seq = v.redacted_seq"
)
_TEXT = " left join memoryhub_memorytext t on t.store_id = v.store_id and t.id = v.text_id"
_BASIC = f"select {_VERSION}null from {{table}}{_ACTORS}"
_FULL = f"select {_VERSION}t.content from {{table}}{_ACTORS}{_TEXT}"
_VERSIONS = "memoryhub_memoryversion v"
_OF_ENTRIES = f"told cross join {_VERSIONS}"
_ENTRIES = (
    "with told as materialized (select x.seq from memoryhub_auditentry x where x.chain = %s and x.{column} = %s"
    " and x.seq <= %s order by x.seq desc limit %s) "
)

BY_SEQ = "v.seq desc, v.id desc"
BY_NUMBER = "v.number desc"

Condition = tuple[str, tuple[object, ...]]
"""A condition of a statement, and the values in it."""


def version(store: str, version_id: str, *, full: bool) -> Row | None:
    """Return one version of a store, with the actors who wrote it and redacted it; None if there is no such version."""
    found = select_versions([("v.store_id = %s and v.id = %s", (store, version_id))], BY_SEQ, 1, full=full)
    return found[0] if found else None


def paths_of(store: str, memories: Sequence[str]) -> dict[str, str]:
    """Return {id: path} of memories, also of deleted ones, which keep their last path."""
    text = "select id, path from memoryhub_memory where store_id = %s and id in ({paths})"
    return dict(sql.rows(sql.for_paths(text, len(memories)), store, *memories)) if memories else {}


def select_versions(
    conditions: Sequence[Condition], order: str, limit: int, *, full: bool, entries: Condition | None = None
) -> list[Row]:
    """Return the versions that meet all conditions, with their actors. `full` adds the text.

    `entries` is a condition on audit entries; with it, only the versions that such entries made are returned.
    """
    table = _VERSIONS if entries is None else _OF_ENTRIES
    before, values = ("", ()) if entries is None else (_ENTRIES.format(column=entries[0]), entries[1])
    if entries is not None:
        conditions = [*conditions, ("v.seq = told.seq", ())]
    text = (_FULL if full else _BASIC).format(table=table) + _where(conditions) + f" order by {order} limit %s"
    return sql.rows(Statement(before + text), *values, *_values(conditions), limit)


def last_looked_at(conditions: Sequence[Condition], order: str, columns: str, most: int) -> Row | None:
    """Return `columns` of the `most`-th version that meets the conditions; None if fewer versions meet them."""
    text = f"select {columns} from {_VERSIONS}{_where(conditions)} order by {order} limit 1 offset %s"
    return sql.one(Statement(text), *_values(conditions), most - 1)


def last_entry_looked_at(column: str, chain_id: str, value: str, seq: int, most: int) -> int | None:
    """Return the seq of the `most`-th entry with this value in `column`, from `seq` down; None if there are fewer."""
    text = f"x.chain = %s and x.{column} = %s and x.seq <= %s order by x.seq desc limit 1 offset %s"
    row = sql.one(Statement(f"select x.seq from memoryhub_auditentry x where {text}"), chain_id, value, seq, most - 1)
    return None if row is None else int(row[0])


def origin_of(type: str, id: str) -> Condition:
    """Return the condition that a version was imported and that this actor is its original author."""
    named = f'"type":{_json(type)}', f'"id":{_json(id)}'
    # The version's origin is compact JSON.
    return f"v.origin is not null and {_FIND}(v.origin, %s) > 0 and {_FIND}(v.origin, %s) > 0", named


def _where(conditions: Sequence[Condition]) -> str:
    return " where " + " and ".join(f"({text})" for text, _ in conditions)


def _values(conditions: Sequence[Condition]) -> list[object]:
    return [value for _, values in conditions for value in values]


# ------------------------------------------------------------------------------------------- conditions of path rules

_OF_PEOPLE = (
    "select distinct memory_id from memoryhub_memoryversion where store_id = %s and memory_id in ({paths})"
    " and operation <> 'deleted' and (review_state is null or review_state = 'approved')"
)
_WITH_OPEN_FINDING = (
    "select distinct memory_id from memoryhub_finding where store_id = %s and memory_id in ({paths}) and state = 'open'"
)
_MERGED = Statement(
    "select 1 from memoryhub_proposal p join memoryhub_auditentry e on e.chain = p.store_id and e.seq = p.seq"
    " where p.store_id = %s and p.agent = %s and p.state in ('merged', 'partly_merged') and e.actor_kind <> 'key'"
    " limit 1"
)


def of_people(store: str, memories: Sequence[str]) -> set[str]:
    """Return the ids of the given memories that have a version which a person wrote, imported or approved."""
    sql.connect()
    return {memory for (memory,) in sql.rows(sql.for_paths(_OF_PEOPLE, len(memories)), store, *memories)}


def with_open_finding(store: str, memories: Sequence[str]) -> set[str]:
    """Return the ids of the given memories that have an open finding."""
    sql.connect()
    return {memory for (memory,) in sql.rows(sql.for_paths(_WITH_OPEN_FINDING, len(memories)), store, *memories)}


def has_merged(store: str, agent: str) -> bool:
    """Return whether a person has merged a proposal of an agent, or a part of one."""
    sql.connect()
    return sql.one(_MERGED, store, agent) is not None


def database_bytes() -> int:
    """Return the size of the PostgreSQL database in bytes."""
    sql.connect()
    row = sql.one(Statement("select pg_database_size(current_database())"))
    assert row is not None  # it is one value
    return int(row[0])
