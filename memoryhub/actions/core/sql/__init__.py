"""The hub's SQL, for what the ORM cannot do well: tool calls, and queries about the past.

Every statement is written once, with `%s`, which `statements` replaces by `?` for SQLite. Rows are tuples with the
columns that the statement names.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from django.db import DEFAULT_DB_ALIAS, connection, connections

from memoryhub.actions.core.rules.limits import Limits
from memoryhub.actions.core.sql.statements import (
    Question as Question,
    Row as Row,
    Statement as Statement,
    add as add,
    ask_ahead as ask_ahead,
    begin as begin,
    commit as commit,
    connect as connect,
    end as end,
    find_or_add as find_or_add,
    first as first,
    is_transaction_whole as is_transaction_whole,
    know as know,
    one as one,
    one_at as one_at,
    rows as rows,
    run as run,
    run_each as run_each,
    run_later as run_later,
)
from memoryhub.models import inputs

IS_SQLITE = connection.vendor == "sqlite"


def is_writable() -> bool:
    """Return whether the database takes writes now. A PostgreSQL replica and a read-only SQLite file take none."""
    connect()
    return one(_READ_ONLY) in (("off",), (0,))


def keep_snapshot() -> None:
    """On PostgreSQL, make the transaction read-only, and let all its statements see the same state.

    Call it before any other statement of the transaction.
    """
    connect()
    run(Statement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))


def rewrite() -> None:
    """Rewrite SQLite's whole file; on PostgreSQL, update the planner's statistics. Call it outside a transaction."""
    if not IS_SQLITE:
        connect()
        run(Statement("ANALYZE"))
        return
    own = connection.copy()
    try:
        own.ensure_connection()
        # The temporary copy goes to a file in SQLITE_TMPDIR; in memory, it would need as much space as the database.
        for statement in ("PRAGMA temp_store=FILE", "PRAGMA cache_size=-16384", "VACUUM"):
            own.connection.execute(statement)
    finally:
        own.close()


def bytes_in_use() -> int:
    """Return how many bytes the used pages of SQLite's file have. Call it only on SQLite."""
    connect()
    size, count, free = (one(Statement(f"PRAGMA {name}")) for name in ("page_size", "page_count", "freelist_count"))
    return int(size[0]) * (int(count[0]) - int(free[0])) if size and count and free else 0


def empty_log() -> bool:
    """Empty SQLite's write-ahead log, outside a transaction. Return False if a reader prevented this.

    Always True on PostgreSQL.
    """
    connect()
    row = one(Statement("PRAGMA wal_checkpoint(TRUNCATE)")) if IS_SQLITE else (0,)
    return row is not None and not row[0]


@lru_cache(maxsize=64)
def moment(at: datetime) -> object:
    """Return a UTC moment in the form that the driver expects. SQLite stores times as text without a zone."""
    return at.replace(tzinfo=None).isoformat(" ") if IS_SQLITE else at


def data_version() -> object:
    """Return a value that changes whenever another connection commits to SQLite's file. Call it in a transaction."""
    return connections[DEFAULT_DB_ALIAS].connection, one(_DATA_VERSION)


_DATA_VERSION = Statement("pragma data_version")
_READ_ONLY = Statement("pragma query_only" if IS_SQLITE else "show transaction_read_only")
_as_moment = "coalesce({column}, null)"
"""SQLite's driver converts times in plain columns, but not in expressions; so this expression leaves a time in the form
of `moment`."""
CALLER = Statement(
    "select k.id, k.agent_id, a.name, k.access,"
    f" {_as_moment.format(column='k.last_used_at')}, {_as_moment.format(column='k.expires_at')},"
    " s.id is not null and (k.all_stores"
    " or exists (select 1 from memoryhub_keystore ks where ks.key_id = k.id and ks.store_id = s.id)),"
    " coalesce(s.limit_body_bytes, h.limit_body_bytes)"
    " from memoryhub_key k join memoryhub_agent a on a.id = k.agent_id"
    " left join memoryhub_memorystore s on s.id = %s and s.deleted_at is null and s.copy_of is null"
    " left join memoryhub_hubsettings h on h.id = 1"
    " where k.digest = %s and k.revoked_at is null"
)
KEY_USED = Statement("update memoryhub_key set last_used_at = %s where id = %s")
SESSION = Statement("select id, last_seen_at < %s from memoryhub_session where agent_id = %s and name = %s")
ADD_SESSION = Statement(
    "insert into memoryhub_session (id, agent_id, name, first_seen_at, last_seen_at) values (%s, %s, %s, %s, %s)"
    " on conflict (agent_id, name) do nothing"
)
SESSION_SEEN = Statement("update memoryhub_session set last_seen_at = %s where id = %s")

_limits = ", ".join(f"coalesce(s.limit_{name}, h.limit_{name})" for name in Limits._fields)
_answers = "s.overwrite_on_create, s.proposes_without_error, s.shows_proposed"
_settings = f"s.archived_at is not null, {_answers}, s.path_rules, s.rules, h.rules, {_limits}"
_totals = "s.memory_count, s.total_bytes, c.last_seq, c.last_hash, c.key_name, c.bytes"
_store = "from memoryhub_memorystore s join memoryhub_auditchain c on c.id = s.id"
STORE = Statement(
    f"select {_totals}, {_settings} {_store}"
    " left join memoryhub_hubsettings h on h.id = 1 where s.id = %s and s.deleted_at is null",
    locking=" for update of s, c",
)
TOTALS = Statement(f"select {_totals} {_store} where s.id = %s and s.deleted_at is null", locking=" for update of s, c")
TOTAL_COLUMNS = 6
CHAIN = Statement(
    "select last_seq, last_hash, key_name from memoryhub_auditchain where id = %s and closed_at is null",
    locking=" for update",
)
ADD_CHAIN = Statement(
    "insert into memoryhub_auditchain (id, last_seq, last_hash, key_name)"
    " values (%s, 0, %s, (select h.key_name from memoryhub_auditchain h where h.id = 'hub'))"
    " on conflict (id) do nothing"
)
CHAIN_HEAD = Statement(
    "update memoryhub_auditchain set bytes = bytes + %s, last_seq = %s, last_hash = %s where id = %s"
)
ENTRY_COLUMNS = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "session", "door", "command", "path",
    "new_path", "memory", "version", "ok", "message", "input", "duration", '"group"', "token", "replay_of", "note",
    "first_line", "last_line", "cut", "digest", "key_name", "previous_hash", "hash", "proof",
)  # fmt: skip
ADD_ENTRY = Statement(
    f"insert into memoryhub_auditentry (salts, commitments, {', '.join(ENTRY_COLUMNS)})"
    f" values ('{{}}', '{{}}', {', '.join(['%s'] * len(ENTRY_COLUMNS))})"
)
ANSWER = Statement(
    "select e.ok, e.message, e.command, e.first_line, e.last_line, e.cut, e.path, t.content"
    " from memoryhub_auditentry e left join memoryhub_memoryversion v on v.store_id = e.chain and v.id = e.version"
    " left join memoryhub_memorytext t on t.store_id = v.store_id and t.id = v.text_id"
    " where e.chain = %s and e.seq = %s"
)
NOTE = Statement("select note from memoryhub_auditentry where chain = %s and seq = %s")
GIVEN = Statement(
    f"select {inputs.selected('e')}, e.path, e.new_path from memoryhub_auditentry e where e.chain = %s and e.seq = %s"
)
IDEMPOTENT_CALL = Statement(
    'select digest, seq from memoryhub_idempotentcall where store_id = %s and "key" = %s and token = %s'
)
ADD_IDEMPOTENT_CALL = Statement(
    'insert into memoryhub_idempotentcall (store_id, "key", token, digest, seq, at) values (%s, %s, %s, %s, %s, %s)'
    ' on conflict (store_id, "key", token) do nothing'
)
CALLS = Statement(
    'select w.seconds from memoryhub_key k left join memoryhub_callwindow w on w.store_id = %s and w."key" = k.id'
    " where k.id = %s and k.revoked_at is null"
)
SET_CALLS = Statement(
    'insert into memoryhub_callwindow (store_id, "key", seconds) values (%s, %s, %s)'
    ' on conflict (store_id, "key") do update set seconds = excluded.seconds'
)

_MEMORY = (
    "select m.id, m.path, m.head_id, m.text_id, m.size, m.sha256, m.version_count,"
    " m.removed_versions{content}"
    " from memoryhub_memory m{join} where m.store_id = %s and {where}"
)
_FINDING = ", exists (select 1 from memoryhub_finding f where f.store_id = m.store_id and f.memory_id = m.id)"
_WITH_TEXT = {
    "content": ", t.content, m.waiting_notes" + ("" if IS_SQLITE else _FINDING),
    "join": " join memoryhub_memorytext t on t.store_id = m.store_id and t.id = m.text_id",
}
MEMORY_AT = Statement(_MEMORY.format(where="m.path = %s and m.deleted_at is null", **_WITH_TEXT))
MEMORY_BY_ID = Statement(_MEMORY.format(where="m.id = %s and m.deleted_at is null", **_WITH_TEXT))
MEMORY_IN_TRASH = Statement(_MEMORY.format(where="m.id = %s and m.deleted_at is not null", **_WITH_TEXT))
MEMORIES_UNDER = Statement(
    _MEMORY.format(
        where="m.path >= %s and m.path < %s and m.deleted_at is null order by m.path", content=", null", join=""
    )
)
PATH_TAKEN = Statement("select 1 from memoryhub_memory where store_id = %s and path = %s and deleted_at is null")
DIRECTORY_AT = Statement("select id from memoryhub_directory where store_id = %s and path = %s", needs_written=False)
DIRECTORY_BYTES = Statement("select total_bytes from memoryhub_directory where store_id = %s and path = %s")
_HERE = "select id from memoryhub_directory where store_id = %s and path = %s"
_TWO_LEVELS = f"({_HERE} union all select id from memoryhub_directory where store_id = %s and parent_id = ({_HERE}))"
DIRECTORIES_IN = Statement(
    f"select path, total_bytes from memoryhub_directory where store_id = %s and parent_id in {_TWO_LEVELS}"
)
MEMORIES_IN = Statement(
    f"select path, size from memoryhub_memory where store_id = %s and directory_id in {_TWO_LEVELS}"
)


def in_directory(store: str, path: str) -> tuple[str, ...]:
    """Return the parameters of the statements DIRECTORIES_IN and MEMORIES_IN."""
    return store, store, path, store, store, path


TEXT = Statement("select content from memoryhub_memorytext where store_id = %s and id = %s")
ADD_TEXT = Statement("insert into memoryhub_memorytext (id, store_id, memory_id, content) values (%s, %s, %s, %s)")
ADD_VERSION = Statement(
    "insert into memoryhub_memoryversion (id, store_id, memory_id, number, operation, path, text_id, size, sha256,"
    " created_at, seq, review_state, salt, commitment) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
ADD_IMPORTED_VERSION = Statement(
    "insert into memoryhub_memoryversion (id, store_id, memory_id, number, operation, path, text_id, size, sha256,"
    " created_at, seq, superseded_seq, salt, commitment, redacted_at, redacted_by, redacted_seq, origin)"
    f" values ({', '.join(['%s'] * 18)})"
)
SUPERSEDE = Statement("update memoryhub_memoryversion set superseded_seq = %s where store_id = %s and id = %s")
HAS_FINDING = Statement("select 1 from memoryhub_finding where store_id = %s and memory_id = %s limit 1")
HAS_OPEN_FINDING = Statement(
    "select 1 from memoryhub_finding where store_id = %s and memory_id = %s and state = 'open' limit 1"
)
ADD_MEMORY = Statement(
    "insert into memoryhub_memory (id, store_id, directory_id, path, name, head_id, text_id, size, sha256,"
    " version_count, created_at, updated_at, read_count, flagged)"
    " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, 1, %s, %s, 0, %s)"
)
NEW_TEXT = Statement(
    "update memoryhub_memory set head_id = %s, text_id = %s, size = %s, sha256 = %s, version_count = version_count + 1,"
    " updated_at = %s where store_id = %s and id = %s"
)
NEW_PLACE = Statement(
    "update memoryhub_memory set head_id = %s, directory_id = %s, path = %s, name = %s,"
    " version_count = version_count + 1, updated_at = %s where store_id = %s and id = %s"
)
NEW_PREFIX = Statement(
    "update memoryhub_memory set head_id = %s, path = %s, version_count = version_count + 1, updated_at = %s"
    " where store_id = %s and id = %s"
)
TO_TRASH = Statement(
    "update memoryhub_memory set head_id = %s, directory_id = null, version_count = version_count + 1,"
    " updated_at = %s, deleted_at = %s, restored_at = null where store_id = %s and id = %s"
)
TAKE_OUT = Statement("update memoryhub_memory set directory_id = null, deleted_at = %s where store_id = %s and id = %s")
RETURN = Statement(
    "update memoryhub_memory set head_id = %s, directory_id = %s, path = %s, name = %s, text_id = %s, size = %s,"
    " sha256 = %s, version_count = version_count + 1, updated_at = %s, deleted_at = null, expired_by = null,"
    " restored_at = %s where store_id = %s and id = %s"
)
POINT_TO_TEXT = Statement(
    "update memoryhub_memory set text_id = %s, size = %s, sha256 = %s where store_id = %s and id = %s"
)
EXPIRED = Statement("update memoryhub_memory set expired_by = %s where store_id = %s and id = %s")
LEGAL_HOLDS = Statement(
    "select memory, path from memoryhub_hold where store_id = %s and released_at is null and kind = 'hold'"
    " and (ends_at is null or ends_at > %s)"
)
FROZEN = Statement(
    "select memory, path, reason from memoryhub_hold where store_id = %s and released_at is null and freezes"
    " and (ends_at is null or ends_at > %s)"
)
READ = Statement(
    "update memoryhub_memory set last_read_at = %s, last_read_seq = %s, read_count = read_count + 1"
    " where store_id = %s and id = %s"
)
ADD_DIRECTORY = Statement(
    "insert into memoryhub_directory (id, store_id, path, parent_id, memory_count, total_bytes, changed_at)"
    " values (%s, %s, %s, %s, 0, 0, %s)", needs_written=False,
)  # fmt: skip
MOVE_DIRECTORY = Statement("update memoryhub_directory set path = %s, parent_id = %s where store_id = %s and id = %s")
MOVE_DIRECTORIES = Statement(
    "update memoryhub_directory set path = cast(%s as text) || substr(path, %s)"
    " where store_id = %s and path >= %s and path < %s"
)
REMOVE_DIRECTORIES = Statement("delete from memoryhub_directory where store_id = %s and path >= %s and path < %s")
REMOVE_DIRECTORY = Statement("delete from memoryhub_directory where store_id = %s and path = %s")
COUNT_DIRECTORY = Statement(
    "update memoryhub_directory set memory_count = memory_count + %s, total_bytes = total_bytes + %s, changed_at = %s"
    " where store_id = %s and path = %s"
)
COUNT_STORE = Statement(
    "update memoryhub_memorystore set memory_count = memory_count + %s, total_bytes = total_bytes + %s where id = %s"
)

_VERSION = "memoryhub_memoryversion v where v.store_id = %s"
_WAS = "(superseded_seq is null or superseded_seq > %s) and operation <> 'deleted'"
_BENEATH = (
    f"from {_VERSION} and v.path >= w.place"
    " and v.path < substr(w.place, 1, {find}(substr(w.place, %s), '/') + %s - 1) || '0' and v.seq <= %s"
)
_NEXT = (
    "case when {find}(substr(w.place, %s), '/') > 0"
    " then substr(w.place, 1, %s + {find}(substr(w.place, %s), '/') - 1) || '0' else w.place || ' ' end"
)
NAMES_AT = Statement(
    (
        "with recursive walk (place, step) as ("
        f"select (select min(v.path) from {_VERSION} and v.path >= %s and v.path < %s), 1 union all"
        f" select (select min(v.path) from {_VERSION} and v.path < %s and v.path >= {_NEXT}), w.step + 1"
        " from walk w where w.place is not null and w.step < %s)"
        " select place, step, was from (select w.place, w.step, case when {find}(substr(w.place, %s), '/') > 0 then"
        f" case when exists (select 1 from (select v.superseded_seq, v.operation {_BENEATH} order by v.path"
        f" limit %s) looked where {_WAS}) then 'there'"
        f" when (select count(*) from (select 1 {_BENEATH} limit %s) counted) > %s then 'unknown' end"
        f" else (select id from (select v.id, v.superseded_seq, v.operation from {_VERSION} and v.path = w.place"
        f" and v.seq <= %s order by v.seq desc limit 4) newest where {_WAS} limit 1) end as was"
        " from walk w where w.place is not null) names where was is not null or step = %s limit %s"
    ).format(find="instr" if IS_SQLITE else "strpos")
)

_AT_PATH = "e.chain = %s and e.path = s.path and e.seq >= s.low and e.seq <= s.high"
_READS = (
    "with span (number, path, low, high) as (values {spans}), newest (number, path, low, high) as ("
    " select s.number, s.path, coalesce((select e.seq from memoryhub_auditentry e"
    f" where {_AT_PATH} order by e.seq desc limit 1 offset %s), s.low), s.high from span s)"
    " select s.number, count(*), max(e.seq), max(s.low) from newest s cross join memoryhub_auditentry e"
    f" where {_AT_PATH} and e.memory = %s and e.ok and e.command in ('view', 'download') group by s.number"
)
Span = tuple[int, str, int, int]
"""(number of the span, path, low, high): the entries at the path between two seqs, both included."""


def reads_in(store: str, memory: str, spans: Sequence[Span], most: int) -> list[Row]:
    """Return a row for each of the `spans` in which the memory was read.

    A row has the number that names the span, the count of reads, the seq of the newest read, and the seq of the first
    scanned entry. In each span, only the newest `most` entries are scanned.
    """
    if not spans:
        return []
    connect()
    text = _READS.format(spans=", ".join(["(%s, %s, %s, %s)"] * len(spans)))
    return rows(Statement(text), *(value for span in spans for value in span), store, most - 1, store, memory)


@lru_cache(maxsize=64)
def for_paths(text: str, count: int, *, needs_written: bool = True) -> Statement:
    """Return the statement with `count` placeholders in place of `{paths}`."""
    return Statement(text.format(paths=", ".join(["%s"] * count)), needs_written=needs_written)


def directories_at(store: str, paths: Sequence[str]) -> list[Row]:
    """Return (path, id) of the directories that exist at these paths."""
    statement, values = which_directories(store, paths)
    return rows(statement, *values)


def which_directories(store: str, paths: Sequence[str]) -> Question:
    """Return the query of `directories_at`, to be sent by `statements.ask_ahead`."""
    text = "select path, id from memoryhub_directory where store_id = %s and path in ({paths})"
    return for_paths(text, len(paths), needs_written=False), (store, *paths)


def memories_at(store: str, paths: Sequence[str]) -> list[Row]:
    """Return (path,) of the live memories at these paths, sorted by path."""
    statement, values = which_memories(store, paths)
    return rows(statement, *values)


def which_memories(store: str, paths: Sequence[str]) -> Question:
    """Return the query of `memories_at`, to be sent by `statements.ask_ahead`."""
    text = "select path from memoryhub_memory where store_id = %s and path in ({paths}) and deleted_at is null"
    return for_paths(text + " order by path", len(paths)), (store, *paths)


def count_directories(store: str, paths: Sequence[str], memories: int, size: int, at: object) -> None:
    """Add `memories` and `size` to the counters of these directories. `at` is the time of the change."""
    if IS_SQLITE:
        for path in paths:
            add(COUNT_DIRECTORY, (memories, size), (at,), store, path)
        return
    text = (
        "update memoryhub_directory set memory_count = memory_count + %s, total_bytes = total_bytes + %s,"
        " changed_at = %s where store_id = %s and path in ({paths})"
    )
    run(for_paths(text, len(paths)), memories, size, at, store, *paths)


def remove_empty_directories(store: str, paths: Sequence[str]) -> None:
    """Delete the directories at these paths that contain no live memory, but never the root."""
    text = (
        "delete from memoryhub_directory where store_id = %s and path in ({paths}) and memory_count = 0 and path <> ''"
    )
    run(for_paths(text, len(paths)), store, *paths)
