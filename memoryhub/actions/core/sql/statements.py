"""Runs the hub's SQL on the driver's own connection, inside the transaction that Django has opened.

On PostgreSQL, each wait is a round trip. So the reads of an act are sent together (`ask_ahead`), and the writes of an
act wait for the next read or for the commit (`commit`). SQLite has no server, so most statements run at once. Only
those writes wait that cost less when they are done together (`run_later`, `add`).
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from operator import add as plus
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections

from memoryhub.database import pooled

Row = tuple[Any, ...]

_SQLITE = connection.vendor == "sqlite"
_IDLE = 0
"""libpq's status of a connection on which no transaction has begun."""
MOST_LATER = 100
"""The most rows of a statement that wait. An act that writes many rows knows how long they take."""
_thread = threading.local()


class Statement:
    """A statement in the dialect of the current database. `locking` is appended on PostgreSQL only.

    `table` is the table that the statement changes, or None. `needs` are the tables whose waiting writes must be done
    before this statement. If `needs_written` is False, `needs` is empty.
    """

    __slots__ = ("needs", "table", "text")

    def __init__(self, text: str, locking: str = "", *, needs_written: bool = True) -> None:
        self.text = text.replace("%s", "?") if _SQLITE else text + locking
        found = re.match(r"(?:insert into|update|delete from) (\w+)", text)
        self.table = found[1] if found else None
        self.needs = frozenset(re.findall(r"memoryhub_\w+", text)) if needs_written else frozenset[str]()


Question = tuple[Statement, Sequence[object]]
"""A read and its values."""


def connect() -> None:
    """Open this thread's connection if it is not open yet; call this before any other function of this module."""
    current = connections[DEFAULT_DB_ALIAS]  # `connection` would look it up for each attribute
    if current.connection is None:
        current.ensure_connection()
    _thread.driver = current.connection


def first(statement: Statement, *values: object) -> Row | None:
    """Send the first read of a request, and return the first row of its answer, or None.

    On PostgreSQL with a pool, this read also tests the connection that the pool hands out.
    """
    if not _SQLITE and connections[DEFAULT_DB_ALIAS].connection is None:
        found = pooled.ask(connect, statement.text, values)
        if found is not None:
            return next(iter(found), None)
    connect()
    return one(statement, *values)


def is_transaction_whole() -> bool:
    """Return whether the open transaction can still be committed. After some errors SQLite ends it."""
    batch = _batch()
    return batch is not None and not batch.database.needs_rollback and bool(_thread.driver.in_transaction)


def _run(statement: Statement, values: Sequence[object], *, often: bool = False) -> Any:
    """Send a statement, and return its cursor. With `often`, PostgreSQL prepares the statement."""
    driver = _thread.driver
    return driver.execute_often(statement.text, values) if often else driver.execute(statement.text, values)


def one(statement: Statement, *values: object) -> Row | None:
    """Return the first row of the answer to a read, or None."""
    if _SQLITE:
        _write_before(statement)
        row: Row | None = _run(statement, values).fetchone()
        return row
    return next(iter(_answer(statement, values)), None)


def one_at(statement: Statement, *place: object) -> Row | None:
    """Return the first row of the answer to a read about one place. Writes to other places (`run_later`) may wait."""
    batch = _batch() if _SQLITE else None
    if batch is None or place in batch.places or not batch.changes.isdisjoint(statement.needs):
        return one(statement, *place)
    row: Row | None = _run(statement, place).fetchone()
    return row


def rows(statement: Statement, *values: object) -> list[Row]:
    """Return all rows of the answer to a read."""
    if _SQLITE:
        _write_before(statement)
        found: list[Row] = _run(statement, values).fetchall()
        return found
    return _answer(statement, values)


def run(statement: Statement, *values: object) -> None:
    """Run a write. On PostgreSQL, after `begin`, it is sent with the next read or with the commit."""
    if _SQLITE:
        _write_before(statement)
        _run(statement, values)
    elif (batch := _batch()) is None:
        _run(statement, values)
    else:
        batch.writes.append((statement, values))
        batch.forget(statement.table)


def run_each(statement: Statement, rows: Iterable[Sequence[object]]) -> None:
    """Run a write once for each row of values. This takes a tenth of the time of single writes."""
    if _SQLITE:
        _write_before(statement)
    elif (batch := _batch()) is not None:
        _send(batch)
        batch.forget(statement.table)
    _run_many(statement, rows)


def _run_many(statement: Statement, rows: Iterable[Sequence[object]]) -> None:
    with closing(_thread.driver.cursor()) as cursor:
        cursor.executemany(statement.text, rows)


def find_or_add(read: Question, statement: Statement, *values: object) -> Row | None:
    """Insert a row, and return None. If a row with the same key exists, return that row, as `read` returns it.

    `statement` is an insert with `on conflict do nothing`. A lock must keep others from inserting the same row.
    """
    if _SQLITE:
        _write_before(statement)
        return None if _run(statement, values).rowcount else one(read[0], *read[1])
    row = one(read[0], *read[1])
    if row is None:
        run(statement, *values)
    return row


# ------------------------------------------------------------------------------- SQLite: writes that are done together


def run_later(statement: Statement, *values: object, place: Sequence[object] | None = None) -> None:
    """Run a write before the commit. On SQLite, the write waits, and is done together with others in less time.

    Waiting inserts are done before waiting updates. The writes of one statement keep their order. If another statement
    may need waiting writes, they are done before it runs. With `place`, the only read of `one_at` that needs the write
    is a read of this place.
    """
    batch = _batch() if _SQLITE else None
    if batch is None:
        run(statement, *values)
        return
    of_statement = batch.later.setdefault(statement, [])
    of_statement.append(values)
    if place is None:
        batch.changes.add(statement.table)
    else:
        batch.places.add(place)
        batch.changes_at_places.add(statement.table)
    if len(of_statement) >= MOST_LATER:
        batch.write()


def add(statement: Statement, sums: Sequence[int], latest: Sequence[object], *key: object) -> None:
    """Add `sums` to counters of the row with this key, and set other columns to the `latest` values.

    The values of the statement are the sums, the latest values and the key. On SQLite, the write waits as in
    `run_later`, and all waiting writes to one row are done as one.
    """
    batch = _batch() if _SQLITE else None
    if batch is None:
        run(statement, *sums, *latest, *key)
        return
    of_statement = batch.sums.setdefault(statement, {})
    before = of_statement.get(key)
    of_statement[key] = (sums if before is None else [*map(plus, before[0], sums)]), latest
    batch.changes.add(statement.table)


def _write_before(statement: Statement) -> None:
    """On SQLite, do the waiting writes if the statement may need them."""
    batch: _Batch | None = getattr(_thread, "batch", None)
    if batch is None or not (needs := statement.needs):
        return
    if not (batch.changes.isdisjoint(needs) and batch.changes_at_places.isdisjoint(needs)):
        batch.write()


# ------------------------------------------------------------------------------- PostgreSQL: fewer waits for the server


class _Batch:
    """The writes that wait in a thread's open transaction.

    On SQLite, they are in `later` and `sums`; `changes` and `changes_at_places` name the tables that they change. On
    PostgreSQL, they are in `writes`; `answers` has the known answers to reads.
    """

    def __init__(self, database: Any) -> None:
        self.database, self.is_outermost = database, not database.savepoint_ids
        self.writes: list[Question] = []
        self.answers: dict[tuple[str, Sequence[object]], list[Row]] = {}
        self.later: dict[Statement, list[Sequence[object]]] = {}
        self.sums: dict[Statement, dict[Sequence[object], tuple[Sequence[int], Sequence[object]]]] = {}
        self.places: set[Sequence[object]] = set()
        self.changes: set[str | None] = set()
        self.changes_at_places: set[str | None] = set()

    def write(self) -> None:
        later, sums = self.later, self.sums
        self.later, self.sums = {}, {}
        self.places, self.changes, self.changes_at_places = set(), set(), set()
        for statement in sorted(later, key=lambda statement: not statement.text.startswith("insert")):
            _run_many(statement, later[statement])
        for statement, of_rows in sums.items():
            _run_many(statement, [(*added, *latest, *key) for key, (added, latest) in of_rows.items()])

    def forget(self, table: str | None) -> None:
        """Forget the known answers that a write to a table may change; if `table` is None, forget all of them."""
        for key in [key for key in self.answers if table is None or table in key[0]]:
            del self.answers[key]

    def before_others(self, execute: Callable[..., Any], *statement: Any) -> Any:
        """Send what waits, and then a statement of the ORM, so that the statement sees these writes."""
        if _SQLITE:
            self.write()
        else:
            _send(self)
            self.forget(None)
        return execute(*statement)


def _batch() -> _Batch | None:
    return getattr(_thread, "batch", None)


def begin() -> None:
    """Let writes wait until `commit`: all on PostgreSQL, some on SQLite. Always call `end` afterwards."""
    connect()
    database = connections[DEFAULT_DB_ALIAS]
    _thread.batch = _Batch(database)
    database.execute_wrappers.append(_thread.batch.before_others)


def end() -> None:
    """Stop letting writes wait. What was not sent is dropped."""
    batch, _thread.batch = _batch(), None
    if batch is not None and batch.before_others in batch.database.execute_wrappers:
        batch.database.execute_wrappers.remove(batch.before_others)


def commit() -> None:
    """Send what waits. On PostgreSQL, the commit is sent with it, unless this is inside another transaction."""
    batch = _batch()
    if batch is not None and _SQLITE:
        batch.write()
    elif batch is not None and batch.writes:
        with _thread.driver.pipeline():
            _send_each(batch)
            if batch.is_outermost and not batch.database.needs_rollback:
                _run(_COMMIT, ())


_BEGIN, _COMMIT = Statement("begin"), Statement("commit")


def ask_ahead(questions: Iterable[Question]) -> None:
    """On PostgreSQL, send all these reads in one round trip, in this order.

    `one` and `rows` then return the answers to these reads without a query, unless the act has written to the same
    tables since.
    """
    if not _SQLITE and _batch() is not None:
        asked = list(questions)
        for question, answer in zip(asked, _answers(asked), strict=True):
            know(question, answer)


def know(question: Question, answer: list[Row]) -> None:
    """Store the answer to a read, so that `one` and `rows` return the answer without a query."""
    batch = None if _SQLITE else _batch()
    if batch is not None:
        batch.answers[question[0].text, tuple(question[1])] = answer


def _answer(statement: Statement, values: Sequence[object]) -> list[Row]:
    batch = _batch()
    known = batch.answers.pop((statement.text, values), None) if batch is not None and batch.answers else None
    return _answers([(statement, values)])[0] if known is None else known


def _answers(questions: Sequence[Question]) -> list[list[Row]]:
    """Return the rows of each read. The waiting writes are sent first."""
    batch, driver = _batch(), _thread.driver
    if len(questions) == 1 and not (batch and batch.writes):
        return [_run(*questions[0]).fetchall()]
    begins = not driver.autocommit and driver.pgconn.transaction_status == _IDLE and driver.isolation_level is None
    if begins:
        driver.autocommit = True  # psycopg would begin the transaction itself, in a round trip of its own
    with driver.pipeline():
        if begins:
            _run(_BEGIN, ())
        _send_each(batch)
        cursors = [_run(statement, values, often=len(questions) > 1) for statement, values in questions]
    return [cursor.fetchall() for cursor in cursors]


def _send(batch: _Batch) -> None:
    if batch.writes:
        with _thread.driver.pipeline():
            _send_each(batch)


def _send_each(batch: _Batch | None) -> None:
    if batch is not None:
        writes, batch.writes = batch.writes, []
        for statement, values in writes:
            _run(statement, values, often=True)
