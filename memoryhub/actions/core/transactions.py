"""The one way to write: a transaction that is the only writer of what it locks."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F

from memoryhub import database
from memoryhub.actions.core import disk_space, seals, sql
from memoryhub.actions.core.turns import Lines
from memoryhub.models import sealed
from memoryhub.models.audit import HUB, AuditChain

T = TypeVar("T")

logger = logging.getLogger(__name__)

MOST_TOGETHER = 64
DISK_FULL = "53100"
"""PostgreSQL's code for it."""
LONGEST_GROUP = 0.01
"""Seconds after which a group takes nothing more that came while it ran."""
LONGEST_WAIT = 0.1
"""Seconds after which it takes nothing more that waited when it began either: what takes long is waited for by few."""

write_lock = threading.RLock()
"""On SQLite, which has one write lock: the threads of a process wait for it here, and not in SQLite's busy handler,
which sleeps."""

_thread = threading.local()


class _Last:
    """Moments of this process on the monotonic clock: its last commit; the start of its last wait for SQLite's write
    lock that failed, since another process held it; and the last time that PostgreSQL's disk was full."""

    committed = float("-inf")
    in_vain = float("-inf")
    full = float("-inf")


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
        try:
            yield
        except BaseException as error:
            _note_failure(error)
            raise
    elif connection.vendor == "sqlite":
        _give_up_turn()
        arrived = time.monotonic()
        with write_lock:
            _require_a_chance(arrived)
            database.require_same_file()
            with _transaction():
                yield
    else:
        with _transaction():
            yield


def _require_a_chance(arrived: float) -> None:
    """Raises the error of a failed wait for SQLite's write lock if this thread has waited as long.

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
        if getattr(error.__cause__, "sqlstate", None) == DISK_FULL:
            _Last.full = time.monotonic()
        raise
    database.require_same_file()
    _Last.committed = time.monotonic()


def seconds_since_commit() -> float:
    """How long ago this process last committed a write; endless where it never has."""
    return time.monotonic() - _Last.committed


def seconds_since_full() -> float:
    """How long ago PostgreSQL last refused this process a write because its disk is full; endless where it never has.
    It may go on taking those that need no new page, so that one of them proves nothing."""
    return time.monotonic() - _Last.full


def prove_commit() -> None:
    """Commits a write that changes nothing; raises what keeps it from that."""
    with writing():
        if not sql.is_writable():
            raise ReadOnly
        AuditChain.objects.filter(pk=HUB).update(last_seq=F("last_seq"))


# ------------------------------------------------------------------------------------------------ group commit


class _Job(Generic[T]):
    """A piece of work that waits for its turn, then for the commit."""

    __slots__ = ("arrived", "committed", "error", "result", "whose", "work")

    def __init__(self, work: Callable[[], T], whose: object = None) -> None:
        self.work, self.whose = work, whose
        self.arrived = time.monotonic()
        self.result: T | None = None
        self.error: BaseException | None = None
        self.committed = threading.Lock()
        self.committed.acquire()

    def run_in_group(self) -> None:
        self.result = self.work()

    def run_alone(self) -> BaseException | None:
        """Runs in a transaction of its own; gives the error that it ended with."""
        try:
            self.result = self.work()
        except Exception as error:
            self.error = error
        return self.error

    def finish(self) -> None:
        self.committed.release()


class NotTogether(BaseException):
    """A request of `answer_together` cannot be answered there. No `Exception`: whoever makes answers of those must not
    make one of this."""

    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__(str(cause))
        self.cause = cause
        """The error that it failed with; None where it did nothing yet, and is too much work for the committer."""


class _Request(_Job[T]):
    """A whole request, of which the work that changes rows is a part. What it would answer is its result, so an error
    of that part is noted where it passes."""

    __slots__ = ("done",)

    def __init__(
        self, work: Callable[[], T], done: Callable[[T | None, BaseException | None], None], whose: object = None
    ) -> None:
        super().__init__(work, whose)
        self.done = done

    def run_in_group(self) -> None:
        _thread.failure, _thread.in_group = None, True
        cause = None
        try:
            super().run_in_group()
        except NotTogether as error:
            cause = error.cause
            if cause is None:
                self.error = error
        finally:
            _thread.in_group = False
        if cause or _thread.failure:
            raise cause or _thread.failure  # as it is: what SQLite said of it is its own cause
        if connection.needs_rollback or not connection.connection.in_transaction:
            raise OperationalError("SQLite has ended the transaction")

    def run_alone(self) -> BaseException | None:
        if self.error is not None:
            return None  # it goes elsewhere
        _thread.failure = None
        try:
            return super().run_alone() or _thread.failure
        except NotTogether as error:
            self.error = error
            return None

    def finish(self) -> None:
        try:
            self.done(self.result if self.error is None else None, self.error)
        except Exception:  # without the committer nobody would be answered
            logger.exception("An answer could not be sent")


_jobs: Lines[_Job[Any]] = Lines(slow_ones_rest=True)
_turn = threading.Lock()
_committer_runs = threading.Event()


@contextmanager
def my_turn() -> Iterator[None]:
    """For the work of a call up to `together`: the committer's and the callers' Python take turns.

    Every SQL statement lets go of Python's own lock. Threads that snatch it there cost the committer a wait and two
    changes of context a statement, and all of them a third of what they could do. Whoever waits for the disk or for a
    lock gives up its turn. Nothing that waits for a client may be done in here.
    """
    if not _committer_runs.is_set() or _is_in_group():
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


def together(work: Callable[[], T], whose: object = None) -> T:
    """Runs work that uses `writing` and returns when it is committed; `whose` is the id of the key that asks.

    Where the committer runs, work that has queued up meanwhile is committed in one transaction: the wait for the disk
    is shared, and still nobody is answered before it is over. Work must be repeatable: where one piece fails, each is
    run again in a transaction of its own.
    """
    if not _committer_runs.is_set() or getattr(_thread, "is_committer", False):
        return work()
    job = _Job(work, whose)
    _jobs.put(job, whose)
    _give_up_turn()
    job.committed.acquire()
    if job.error is not None:
        raise job.error
    return job.result  # type: ignore[return-value]


def answer_together(
    work: Callable[[], T],
    done: Callable[[T | None, BaseException | None], None],
    *,
    whose: object = None,
    most_waiting: int,
) -> bool:
    """Has the committer answer a whole request, and says `done` with the answer or the error once it is committed.

    What a call does beside its rows takes less time than handing it from thread to thread and back, so one thread
    answers what has queued up, one request after the other, and commits it together. `done` runs in that thread, and
    gets NotTogether where another thread must answer. False where the committer does not run, where `most_waiting`
    wait for it, or half of so many with the same key (`whose`): the rest is for others. Work must be
    repeatable, as in `together`, up to what it changes outside the database.
    """
    if not _committer_runs.is_set() or not _jobs.has_place(whose, most_waiting):
        return False
    _jobs.put(_Request(work, done, whose), whose)
    return True


def require_own_thread(error: BaseException | None = None) -> None:
    """Ends a request that the committer answers here, where it did nothing yet or, in a group, ended with this error;
    for another request nothing happens. Raises NotTogether."""
    if _is_in_group() or (error is None and getattr(_thread, "is_committer", False)):
        raise NotTogether(error)
    _note_failure(error)


def _is_in_group() -> bool:
    return getattr(_thread, "in_group", False)


def _note_failure(error: BaseException | None) -> None:
    if getattr(_thread, "is_committer", False):
        _thread.failure = error


def start_committer() -> None:
    """Starts the thread that commits together what was queued, where the database is SQLite."""
    if connection.vendor == "sqlite" and not _committer_runs.is_set():
        database.keep_file()
        _committer_runs.set()
        threading.Thread(target=_commit_forever, name="committer", daemon=True).start()


def _commit_forever() -> None:
    _thread.is_committer = True
    while True:
        jobs = [_jobs.get()[1]]
        _answer(jobs)
        del jobs  # or the last requests stay in memory until the next one


def _answer(jobs: list[_Job[Any]]) -> None:
    """Commits the jobs and says so to whoever waits; those that have no chance are not tried."""
    late = [job for job in jobs if job.arrived <= _Last.in_vain]
    _fail(late, OperationalError("database is locked"))
    rest = [job for job in jobs if job.error is None]
    try:
        if rest:
            _commit(rest)
    except BaseException as error:  # without this thread nobody would ever be answered again
        _fail(rest, error)
    for job in late + rest:
        _jobs.done(job.whose)
        job.finish()


def _commit(jobs: list[_Job[Any]]) -> None:
    """Commits the jobs, those that wait, and those that come while they run."""
    try:
        with writing(), _turn:
            began, waiting = time.monotonic(), len(jobs) + _jobs.all_waiting()
            for job in jobs:
                with _jobs.time_of(job.whose):
                    job.run_in_group()
                seals.require_none_left()
                if job is jobs[-1] and len(jobs) < MOST_TOGETHER and not _jobs.empty() and not _jobs.is_slow_next():
                    longest = LONGEST_WAIT if len(jobs) < waiting else LONGEST_GROUP
                    if time.monotonic() - began < longest:
                        jobs.append(_jobs.get()[1])
    except RoomMade:
        _commit_apart(jobs)
    except (OperationalError, InterfaceError) as error:
        _fail(jobs, error)
    except Exception:
        _commit_apart(jobs)


def _commit_apart(jobs: list[_Job[Any]]) -> None:
    for position, job in enumerate(jobs):
        with _jobs.time_of(job.whose):
            error = job.run_alone()
        if isinstance(error, OperationalError | InterfaceError):
            _fail(jobs[position + 1 :], error)
            return


def _fail(jobs: list[_Job[Any]], error: BaseException) -> None:
    """What fails for the database's sake (locked, full, gone) would fail for each, after as long a wait for each."""
    for job in jobs:
        job.error = error
