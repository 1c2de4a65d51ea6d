"""Makes a synthetic store on SQLite many times larger in a few statements: a minute in place of half an hour.

Each copy repeats every entry with its versions and its memories under other ids and paths. The copies of an entry
follow each other, so that the store has the same order and the same days. Half of the copies are in the same
directories, the others in their own. The story's subjects are not copied, so that their pages can be compared, and
neither are the few entries through the door `command`; the diary and the popular memory are the exceptions, which only
become longer. The entries no longer verify.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import F, Model

from benchmarks.bulk import columns_of
from benchmarks.story import DIARY, HANDBOOK, MOVED, POPULAR, TYPICAL
from memoryhub.models import (
    Activity,
    AuditChain,
    AuditEntry,
    Directory,
    Door,
    Figures,
    Growth,
    IdempotentCall,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Operation,
    Review,
    Session,
)
from memoryhub.pure import ids
from memoryhub.pure.protocol import paths

MODELS: tuple[type[Model], ...] = (AuditEntry, MemoryVersion, Memory, MemoryText, Review, Session, IdempotentCall)
DIARIES, READERS = 30, 10
"""The copies of the acts on the diary, and of the reads of the popular memory."""
SUBJECTS = (HANDBOOK, TYPICAL, MOVED, "/reference/*", "/moved/*", "/needles/*", "/tickets/7001/*")
ALONE = ("keeper of *", "ticket-7001")
"""The sessions that are not copied."""
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LARGE = "nightly-import"
"""The session that becomes longer."""


def copy(store: MemoryStore, copies: int) -> None:
    """Make a store this many times larger. Call it inside `loading(*MODELS)`."""
    with connection.cursor() as cursor:
        connection.connection.create_function("placed", 2, placed, deterministic=True)
        _prepare(cursor, store.pk, copies)
        for model, source, changed in _statements():
            _copy(cursor, model, source, changed)
        _number_the_diary(cursor, store.pk, copies)
        _directories(cursor, store)
    last = AuditEntry.objects.of_chain(store.pk).newest()[0].seq
    AuditChain.objects.filter(pk=store.pk).update(last_seq=last, bytes=F("bytes") * copies)
    Activity.objects.filter(store=store).update(count=F("count") * copies)
    of_all = {name: F(name) * copies for name in ("memories", "bytes", "versions")}
    Growth.objects.filter(store=store).update(**of_all)
    Figures.objects.filter(store=store).update(seq=last, listed_seq=0)


@lru_cache(1_000_000)
def placed(path: str | None, copy: int) -> str | None:
    """Return the path of a copy of a memory or a directory."""
    if not path or not copy:
        return path
    if path.startswith("/projects/"):
        return f"/projects/c{copy:02}-{path.removeprefix('/projects/')}"
    place, _, name = path.rpartition("/")
    if copy % 2 and place:
        first, _, rest = path[1:].partition("/")
        return f"/{first}/c{copy:02}/{rest}"
    stem, dot, ending = name.rpartition(".")
    return f"{place}/{stem}-c{copy:02}{dot}{ending}" if dot else path


def _prepare(cursor: Any, store: str, copies: int) -> None:
    """Move the rows of the store into temporary tables, and say which of their copies are made.

    `place` has the new number (`at`) of each copy (`k`) of an entry, `alone` how many copies a subject has.
    """
    for model in MODELS:
        table = model._meta.db_table
        of_store = {AuditEntry: f"chain = '{store}'", Session: "true"}.get(model, f"store_id = '{store}'")
        cursor.execute(f"create temp table of_{table} as select * from {table} where {of_store}")
        cursor.execute(f"delete from {table} where {of_store}")
        for column in {"id", "seq", "text_id"} & set(columns_of(model)):
            cursor.execute(f"create index temp.of_{table}_{column} on of_{table} ({column})")
    subjects = " or ".join(f"path glob '{path}'" for path in SUBJECTS)
    sessions = " or ".join(f"name glob '{name}'" for name in ALONE)
    cursor.execute(f"""
        create temp table alone as
        select distinct memory_id as id, 1 as most from of_memoryhub_memoryversion where {subjects}
        union all select id, 1 from of_memoryhub_session where {sessions}
        union all select id, 1 from (select id from memoryhub_agent order by folded_name desc limit 2)""")
    for path, most in ((DIARY, DIARIES), (POPULAR, READERS)):
        cursor.execute(f"update alone set most = {min(most, copies)} where id = {_memory_at(path)}")
    cursor.execute("create unique index temp.alone_once on alone (id)")
    cursor.execute(f"create temp table large as select id from of_memoryhub_session where name = '{LARGE}'")
    cursor.execute("create temp table copy (k integer primary key, mark text)")
    cursor.executemany(
        "insert into copy values (%s, %s)", [(k, f"{k // 32:X}{LETTERS[k % 32]}") for k in range(copies)]
    )
    cursor.execute(
        "create temp table place (seq integer, k integer, mark text, at integer, primary key (seq, k)) without rowid"
    )
    cursor.execute(f"""
        insert into place select e.seq, k, mark, row_number() over (order by e.seq, k)
        from of_memoryhub_auditentry e join copy on k < coalesce(
            (select 1 where e.memory = {_memory_at(POPULAR)} and e.command <> 'view'),
            (select most from alone where id = e.memory), (select most from alone where id = e.session),
            (select most from alone where id = e.author_id), (select 1 where e.door = '{Door.COMMAND}'), {copies})
        order by e.seq, k""")


def _memory_at(path: str) -> str:
    return f"(select id from of_memoryhub_memory where path = '{path}')"


def _marked(column: str, mark: str = "mark") -> str:
    return f"substr({column}, 1, length({column}) - 2) || {mark}"


def _unless_alone(column: str) -> str:
    """Return the id of a memory's copy; a subject keeps one id."""
    return f"case when {column} in (select id from alone) then {_marked(column, repr('00'))} else {_marked(column)} end"


def _session(column: str) -> str:
    return f"case when {column} in (select id from large) then {column} else {_marked(column)} end"


def _at(column: str) -> str:
    return f"(select p.at from place p where p.seq = {column} and p.k = place.k)"


def _statements() -> Iterable[tuple[type[Model], str, Mapping[str, str]]]:
    """Yield for each table its rows (`r`) with the place of their entry, and the columns that differ in a copy."""
    memory, seq = _unless_alone("r.memory_id"), {"seq": "place.at"}
    first, own = _marked("r.version", repr("00")), _marked("r.version")
    shown = f"case when r.memory = {_memory_at(POPULAR)} then {first} else {own} end"
    by_seq = "join place on place.seq = r.seq order by place.at"
    yield AuditEntry, by_seq, seq | {
        "path": _path("r.path", "r.memory"), "new_path": _path("r.new_path", "r.memory"), "version": shown,
        "memory": _unless_alone("r.memory"), "session": _session("r.session"), "token": "r.token || mark",
    }  # fmt: skip
    yield MemoryVersion, by_seq, seq | {
        "id": _marked("r.id"), "memory_id": memory, "text_id": _marked("r.text_id"),
        "path": _path("r.path", "r.memory_id"), "superseded_seq": _at("r.superseded_seq"),
        "number": f"case when r.memory_id = {_memory_at(DIARY)} then -place.at else r.number end",
    }  # fmt: skip
    made = "join (select text_id, min(seq) as seq from of_memoryhub_memoryversion group by 1) v on v.text_id = r.id"
    yield MemoryText, f"{made} join place on place.seq = v.seq order by place.at", {
        "id": _marked("r.id"), "memory_id": memory,
    }  # fmt: skip
    head = "join of_memoryhub_memoryversion v on v.id = r.head_id join place on place.seq = v.seq"
    yield Memory, f"{head} where place.k = 0 or r.id not in (select id from alone) order by place.at", {
        "id": _marked("r.id"), "head_id": _marked("r.head_id"), "text_id": _marked("r.text_id"),
        "path": _path("r.path", "r.id"), "last_read_seq": _at("r.last_read_seq"),
    }  # fmt: skip
    yield Review, by_seq, seq | {
        "id": _marked("r.id"), "memory_id": memory, "version_id": _marked("r.version_id"),
    }  # fmt: skip
    yield IdempotentCall, by_seq, seq | {"token": "r.token || mark"}
    used = "select distinct session, k from of_memoryhub_auditentry e join place on place.seq = e.seq"
    kept = f"join ({used}) u on u.session = r.id join copy place on place.k = u.k"
    yield Session, f"{kept} where place.k = 0 or r.id not in (select id from large) order by r.id, place.k", {
        "id": _session("r.id"), "name": "case when place.k then r.name || '-' || place.k else r.name end",
    }  # fmt: skip


def _path(column: str, memory: str) -> str:
    return f"case when {memory} in (select id from alone) then {column} else placed({column}, place.k) end"


def _copy(cursor: Any, model: type[Model], source: str, changed: Mapping[str, str]) -> None:
    table, names = model._meta.db_table, columns_of(model)
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(changed.get(name, f'r."{name}"') for name in names)
    cursor.execute(f"insert into {table} ({columns}) select {values} from of_{table} r {source}")


def _number_the_diary(cursor: Any, store: str, copies: int) -> None:
    """Give the copies of the diary's versions one order, and let its reads show the newest of them."""
    diary, popular = (Memory.objects.filter(store=store).at(path) for path in (DIARY, POPULAR))
    diary.update(read_count=F("read_count") * min(DIARIES, copies))
    popular.update(read_count=F("read_count") * min(READERS, copies))
    memory = diary.get()
    rows = list(MemoryVersion.objects.of_memory(memory).order_by("seq").values_list("id", "seq"))
    ends = [*(seq for _id, seq in rows[1:]), None]
    for number, ((id, _seq), end) in enumerate(zip(rows, ends, strict=True), 1):
        operation = Operation.CREATED if number == 1 else Operation.MODIFIED
        changed = {"number": number, "superseded_seq": end, "operation": operation}
        MemoryVersion.objects.filter(store=store, pk=id).update(**changed)
    head = MemoryVersion.objects.get(store=store, pk=rows[-1][0])
    diary.update(version_count=len(rows), head=head, text=head.text_id, size=head.size, sha256=head.sha256)
    cursor.execute("create temp table made (at integer primary key, id text)")
    cursor.executemany("insert into made values (%s, %s)", [(seq, id) for id, seq in rows])
    cursor.execute(f"""
        update memoryhub_auditentry set version = (select id from made where at <= seq order by at desc limit 1)
        where chain = '{store}' and memory = '{memory.pk}'""")


def _directories(cursor: Any, store: MemoryStore) -> None:
    """Make the directories of the live memories again, with their counters."""
    root = Directory.objects.get(store=store, path="")
    Directory.objects.filter(store=store).exclude(path="").delete()
    counts: dict[str, list[Any]] = {"": [0, 0, root.changed_at]}
    live = list(Memory.objects.filter(store=store).live().values_list("id", "path", "size", "updated_at"))
    for _id, path, size, at in live:
        for place in paths.ancestors(path):
            count = counts.setdefault(place, [0, 0, at])
            count[:] = count[0] + 1, count[1] + size, max(count[2], at)
    now: datetime = root.changed_at
    known = {"": root.pk} | {place: ids.new_id(ids.DIRECTORY, now) for place in sorted(counts)[1:]}
    rows = [
        Directory(
            id=known[place],
            store=store,
            path=place,
            parent_id=known[paths.parent(place)],
            memory_count=count,
            total_bytes=size,
            changed_at=at,
        )
        for place, (count, size, at) in sorted(counts.items())[1:]
    ]
    Directory.objects.bulk_create(rows, batch_size=2_000)
    of_memories = [(known[paths.parent(path)], paths.name(path), id) for id, path, _size, _at in live]
    cursor.executemany("update memoryhub_memory set directory_id = %s, name = %s where id = %s", of_memories)
    count, size, at = counts[""]
    Directory.objects.filter(pk=root.pk).update(memory_count=count, total_bytes=size, changed_at=at)
    MemoryStore.objects.filter(pk=store.pk).update(memory_count=count, total_bytes=size)
