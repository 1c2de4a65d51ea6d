"""The one way to write: a transaction that is the only writer of what it locks."""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F

from memoryhub import database
from memoryhub.actions import disk_space, seals, sql
from memoryhub.models import sealed
from memoryhub.models.audit import HUB, AuditChain

T = TypeVar("T")

MOST_TOGETHER = 64

write_lock = threading.RLock()
"""On SQLite, which has one write lock: the threads of a process wait for it here, and not in SQLite's busy handler,
which sleeps."""

_thread = threading.local()


class _Last:
    """When this process last committed a write, and when it last began to wait in vain for the write lock of SQLite,
    which another process had; by the monotonic clock."""

    committed = float("-inf")
    in_vain = float("-inf")


class ReadOnly(Exception):
    """The database answers, and takes no writes."""


def is_open() -> bool:
    """Whether this thread is inside `writing`; the tests refuse every write to a hub model that is not."""
    return getattr(_thread, "depth", 0) > 0


@contextmanager
def writing() -> Iterator[None]:
    """One transaction, committed at the end or not at all; inside another one, a part of it.

    SQLite takes its write lock at the start (`BEGIN IMMEDIATE`). On PostgreSQL the callers lock the rows of the store,
    its chain and the hub's chain, in this order. Raises seals.Unsealed, and commits nothing, where a governing row was
    changed and no audit entry followed.
    """
    if is_open():
        yield
    elif connection.vendor == "sqlite":
        _give_up_turn()
        arrived = time.monotonic()
        with write_lock:
            _require_a_chance(arrived)
            with _transaction():
                yield
    else:
        with _transaction():
            yield


def _require_a_chance(arrived: float) -> None:
    """Raises the error of whoever waited in vain for SQLite's write lock, where this thread waited just as long.

    So a thread waits for another process at most twice as long as SQLite does, however many are in line: each of them
    would otherwise begin that wait anew, one after the other.
    """
    if arrived <= _Last.in_vain:
        raise OperationalError("database is locked")


class RoomMade(OperationalError):
    """There was no room on the disk and now there is some: what was rolled back can be tried again."""


@contextmanager
def _transaction() -> Iterator[None]:
    began = time.monotonic()
    try:
        with connection.wrap_database_errors, transaction.atomic():
            sql.connect()
            _thread.depth = 1
            sealed.begin()
            try:
                yield
                seals.require_none_left()
            finally:
                _thread.depth = 0
                sealed.end()
    except OperationalError as error:
        if disk_space.give_up(error):
            raise RoomMade(*error.args) from error
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            _Last.in_vain = began
        raise
    database.require_same_file()
    _Last.committed = time.monotonic()


def seconds_since_commit() -> float:
    """How long ago this process last committed a write; endless where it never has."""
    return time.monotonic() - _Last.committed


def prove_commit() -> None:
    """Commits a write that changes nothing; raises what keeps it from that."""
    with writing():
        if not sql.is_writable():
            raise ReadOnly
        AuditChain.objects.filter(pk=HUB).update(last_seq=F("last_seq"))


# ------------------------------------------------------------------------------------------------ group commit


class _Job(Generic[T]):
    """A piece of work that waits for its turn, then for the commit."""

    __slots__ = ("committed", "error", "result", "work")

    def __init__(self, work: Callable[[], T]) -> None:
        self.work = work
        self.result: T | None = None
        self.error: BaseException | None = None
        self.committed = threading.Lock()
        self.committed.acquire()

    def run_alone(self) -> None:
        try:
            self.result = self.work()
        except Exception as error:
            self.error = error


_jobs: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
_turn = threading.Lock()
_committer_runs = threading.Event()


@contextmanager
def my_turn() -> Iterator[None]:
    """For the work of a call up to `together`: the committer's and the callers' Python take turns.

    Every SQL statement lets go of Python's own lock. Threads that snatch it there cost the committer a wait and two
    changes of context a statement, and all of them a third of what they could do. Whoever waits for the disk or for a
    lock gives up its turn. Nothing that waits for a client may be done in here.
    """
    if not _committer_runs.is_set():
        yield
        return
    _turn.acquire()
    _thread.has_turn = True
    try:
        yield
    finally:
        _give_up_turn()


def let_others() -> None:
    """Gives up the turn of `my_turn` before work that takes longer than a call."""
    _give_up_turn()


def is_busy() -> bool:
    """Whether calls are being answered or wait at this moment, as far as this process knows."""
    return _turn.locked() or not _jobs.empty()


def _give_up_turn() -> None:
    if getattr(_thread, "has_turn", False):
        _thread.has_turn = False
        _turn.release()


def together(work: Callable[[], T]) -> T:
    """Runs work that uses `writing` and returns when it is committed.

    Where the committer runs, work that has queued up meanwhile is committed in one transaction: the wait for the disk
    is shared, and still nobody is answered before it is over. Work must be repeatable: where one piece fails, each is
    run again in a transaction of its own.
    """
    if not _committer_runs.is_set():
        return work()
    job = _Job(work)
    _jobs.put(job)
    _give_up_turn()
    job.committed.acquire()
    if job.error is not None:
        raise job.error
    return job.result  # type: ignore[return-value]


def start_committer() -> None:
    """Starts the thread that commits together what was queued, where the database is SQLite."""
    if connection.vendor == "sqlite" and not _committer_runs.is_set():
        database.keep_file()
        _committer_runs.set()
        threading.Thread(target=_commit_forever, name="committer", daemon=True).start()


def _commit_forever() -> None:
    while True:
        jobs = [_jobs.get()]
        while len(jobs) < MOST_TOGETHER and not _jobs.empty():
            jobs.append(_jobs.get())
        try:
            _commit(jobs)
        except BaseException as error:  # without this thread nobody would ever be answered again
            _fail(jobs, error)
        for job in jobs:
            job.committed.release()


def _commit(jobs: list[_Job[Any]]) -> None:
    try:
        with writing(), _turn:
            for job in jobs:
                job.result = job.work()
                seals.require_none_left()
    except RoomMade:
        _commit_apart(jobs)
    except (OperationalError, InterfaceError) as error:
        _fail(jobs, error)
    except Exception:
        _commit_apart(jobs)


def _commit_apart(jobs: list[_Job[Any]]) -> None:
    for position, job in enumerate(jobs):
        job.run_alone()
        if isinstance(job.error, OperationalError | InterfaceError):
            _fail(jobs[position + 1 :], job.error)
            return


def _fail(jobs: list[_Job[Any]], error: BaseException) -> None:
    """What fails for the database's sake (locked, full, gone) would fail for each, after as long a wait for each."""
    for job in jobs:
        job.error = error
