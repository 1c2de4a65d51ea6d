"""The only way to write: a transaction that locks the rows it changes against other writers."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

from memoryhub.actions.core import sql
from memoryhub.actions.core.audit import seals
from memoryhub.actions.core.hub import disk_space
from memoryhub.actions.core.transactions import pace, remembered
from memoryhub.actions.core.transactions.turn import Turn
from memoryhub.actions.core.transactions.turns import Lines
from memoryhub.database import connections
from memoryhub.database.watch import LONGEST_WORK, TookTooMuch, Watch, committing, unstopped
from memoryhub.models import sealed

T = TypeVar("T")
logger = logging.getLogger(__name__)

MOST_TOGETHER = 64
LONGEST_GROUP = 0.01
"""Seconds after which a group accepts no more work that arrived while it ran."""
LONGEST_WAIT = 0.1
"""Seconds after which a group accepts no more work that was waiting when it began, so that few wait for slow work."""
write_lock = threading.RLock()
"""SQLite has one write lock. Threads of a process wait for it here, not in SQLite's busy handler, which sleeps."""
_thread = threading.local()


class Last:
    """Times of this process's last events, on the monotonic clock.

    `committed` is its last commit. `in_vain` is the start of its last failed wait for SQLite's write lock. `full` is
    PostgreSQL's last error that its disk was full.
    """

    committed = float("-inf")
    in_vain = float("-inf")
    full = float("-inf")


def is_open() -> bool:
    """Return whether this thread is inside `writing`. Tests refuse a write to a hub model outside `writing`."""
    return getattr(_thread, "depth", 0) > 0


@contextmanager
def writing() -> Iterator[None]:
    """Open a transaction that commits completely or not at all. Inside another one, join it.

    SQLite takes its write lock at the start. On PostgreSQL, callers lock the rows of the store, its chain and the hub's
    chain, in this order. Raises seals.Unsealed, and commits nothing, if a governing row was changed and no audit entry
    followed.
    """
    if is_open():
        try:
            yield
        except BaseException as error:
            _note_failure(error)
            raise
    elif connection.vendor == "sqlite":
        _turn.give_up()
        pace.arrive()
        arrived = time.monotonic()
        with write_lock:
            _require_a_chance(arrived)
            connections.require_same_file()
            with _transaction():
                yield
    else:
        pace.arrive()
        with _transaction():
            yield


def _require_a_chance(arrived: float) -> None:
    """Raise "database is locked" if a wait for another process has failed since this thread `arrived`."""
    # So a thread waits at most twice as long as SQLite does, however many threads queue.
    if arrived <= Last.in_vain:
        raise OperationalError("database is locked")


class RoomMade(OperationalError):
    """The disk was full and now has free space. The work was rolled back and can be tried again."""


@contextmanager
def _transaction() -> Iterator[None]:
    began, committed = pace.begin(), False
    try:
        with ExitStack() as whole, connection.wrap_database_errors, transaction.atomic():
            sql.begin()
            _thread.depth = 1
            sealed.begin()
            if getattr(_thread, "is_committer", False):
                remembered.begin()
            try:
                yield
                seals.require_none_left()
                whole.enter_context(committing())
                sql.commit()
            finally:
                _thread.depth = 0
                sql.end()
                sealed.end()
        committed = True
    except OperationalError as error:
        if disk_space.give_up(error):
            raise RoomMade(*error.args) from error
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            Last.in_vain = began
        if getattr(error.__cause__, "sqlstate", None) == disk_space.POSTGRES_FULL:
            Last.full = time.monotonic()
        raise
    finally:
        remembered.end(committed=committed)
        pace.end()
    connections.require_same_file()
    Last.committed = time.monotonic()


# ------------------------------------------------------------------------------------------------ group commit


class _Job(Generic[T]):
    """Work that waits for its turn and then for the commit."""

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
        """Run the work in its own transaction, without the other jobs of its group. Return the error, or None."""
        try:
            self.result = self.work()
        except Exception as error:
            self.error = error
        return self.error

    def finish(self) -> None:
        self.committed.release()


class NotTogether(BaseException):
    """The committer cannot answer a request of `answer_together`; another thread must."""

    # No Exception, so that code which turns exceptions into answers does not catch it.
    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__(str(cause))
        self.cause = cause
        """The error with which the request failed; None if the request has done nothing yet, but is too much work for
        the committer."""


class _Request(_Job[T]):
    """A job whose work answers a whole request, including its writes. Even if a write fails, it can have an answer."""

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
            raise cause or _thread.failure  # unwrapped: its __cause__ is SQLite's own error
        if not sql.is_transaction_whole():
            raise OperationalError("SQLite has ended the transaction")

    def run_alone(self) -> BaseException | None:
        if self.error is not None:
            return None  # another thread answers it
        _thread.failure = None
        try:
            return super().run_alone() or _thread.failure
        except NotTogether as error:
            self.error = error
            return None

    def finish(self) -> None:
        try:
            self.done(self.result if self.error is None else None, self.error)
        except Exception:  # the committer must go on to answer the others
            logger.exception("An answer could not be sent")


_jobs: Lines[_Job[Any]] = Lines(slow_ones_rest=True)
_turn = Turn()
_committer_runs = threading.Event()


@contextmanager
def my_turn() -> Iterator[None]:
    """Let the committer and the callers run Python in turns. A turn ends at `together`, or with this block.

    A thread that waits for the disk or a database lock gives up its turn. Do not wait for a client inside the block.
    """
    if not _committer_runs.is_set() or _is_in_group():
        yield
        return
    try:
        _turn.take()
        yield
    finally:
        _turn.give_up()


let_others, in_slices = _turn.give_up, _turn.in_slices  # for work that takes longer than a call
waiting = _jobs.all_waiting  # how many jobs wait for the committer of this process


def is_busy() -> bool:
    """Return whether this process is answering calls or has calls waiting."""
    return _turn.is_taken() or not _jobs.empty()


def tidy_up() -> None:
    """Reset the state that a stopped request left in this thread. The request can have been stopped at any step."""
    _turn.give_up()
    pace.stop_giving_way()
    _thread.depth, _thread.in_group, _thread.failure = 0, False, None
    sql.end()
    sealed.end()
    remembered.end(committed=False)


watch = Watch(tidy_up)
"""Looks after the requests of this process, in the committer and in the threads of the server."""


def together(work: Callable[[], T], whose: object = None) -> T:
    """Run work that uses `writing`, and return its result after its commit. `whose` is the id of the calling key.

    If the committer runs, it commits all queued work in one transaction. Work must be repeatable: if one piece fails,
    all are run again, each in its own transaction. A database error fails all. In the committer, the work has the
    context variables of its caller, such as the trace and the id of the request.
    """
    if not _committer_runs.is_set() or getattr(_thread, "is_committer", False):
        return work()
    job = _Job(partial(copy_context().run, work), whose)
    with committing():
        _jobs.put(job, whose)
        _turn.give_up()
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
    """Let the committer answer a whole request. After the commit, it calls `done` with the answer or the error.

    If the error is NotTogether, another thread must answer. Work must be repeatable, as in `together`. Return False,
    and do nothing, if the committer does not run or if too many requests wait: `most_waiting` in all, or half of
    `most_waiting` with the same key (`whose`).
    """
    if not _committer_runs.is_set() or not _jobs.has_place(whose, most_waiting):
        return False
    _jobs.put(_Request(work, done, whose), whose)
    return True


def require_own_thread(error: BaseException | None = None) -> None:
    """Raise NotTogether if the committer runs this request but another thread must answer it.

    If a request is too much work for the committer, call this function without `error`, before the request does
    anything. If a request has failed, call this function with the `error`. It then raises NotTogether only inside a
    group of requests; outside a group, it notes the error.
    """
    if _is_in_group() or (error is None and getattr(_thread, "is_committer", False)):
        raise NotTogether(error)
    _note_failure(error)


def _is_in_group() -> bool:
    return getattr(_thread, "in_group", False)


def _note_failure(error: BaseException | None) -> None:
    if getattr(_thread, "is_committer", False):
        _thread.failure = error


def start_committer() -> None:
    """On SQLite, start the thread that commits queued work in groups."""
    if connection.vendor == "sqlite" and not _committer_runs.is_set():
        connections.keep_file()
        _committer_runs.set()
        threading.Thread(target=_commit_forever, name="committer", daemon=True).start()


def _commit_forever() -> None:
    _thread.is_committer = True
    while True:
        _answer([_jobs.get()[1]])  # no name: it would keep the last requests in memory until the next one


def _answer(jobs: list[_Job[Any]]) -> None:
    """Commit the jobs and notify their callers. A job that arrived before `Last.in_vain` fails at once."""
    late = [job for job in jobs if job.arrived <= Last.in_vain]
    _fail(late, OperationalError("database is locked"))
    rest = [job for job in jobs if job.error is None]
    try:
        if rest:
            _commit(rest)
    except BaseException as error:  # if this thread ended, no one would be answered again
        _fail(rest, error)
    for job in late + rest:
        _jobs.done(job.whose)
        job.finish()


def _commit(jobs: list[_Job[Any]]) -> None:
    """Commit these jobs and queued ones in one transaction. Jobs that arrive while it runs may join."""
    began: list[_Job[Any]] = []
    try:
        watch.run(partial(_run_together, jobs, began), LONGEST_WORK)
    except RoomMade:
        _commit_apart(jobs)
    except (OperationalError, InterfaceError) as error:
        _fail(jobs, error)
    except TookTooMuch as error:
        if not error.has_committed:
            _fail(jobs, OperationalError("another call took too long"))
            for job in began[-1:]:
                job.error = error
    except Exception:
        _commit_apart(jobs)


def _run_together(jobs: list[_Job[Any]], began: list[_Job[Any]]) -> None:
    with writing(), _turn.lock:
        start, waiting = time.monotonic(), len(jobs) + _jobs.all_waiting()
        for job in jobs:
            began.append(job)
            _jobs.run(job.run_in_group, job.whose)
            seals.require_none_left()
            longest = LONGEST_WAIT if len(jobs) < waiting else LONGEST_GROUP
            if job is jobs[-1] and len(jobs) < MOST_TOGETHER and time.monotonic() - start < longest:
                with unstopped():  # a job that was taken out must be answered
                    if following := _jobs.get_quick():
                        jobs.append(following[1])


def _commit_apart(jobs: list[_Job[Any]]) -> None:
    for position, job in enumerate(jobs):
        error: BaseException | None = None
        try:
            error = _jobs.run(partial(watch.run, job.run_alone, LONGEST_WORK), job.whose)
        except TookTooMuch as stopped:
            job.error = stopped
        if isinstance(error, OperationalError | InterfaceError):
            _fail(jobs[position + 1 :], error)
            return


def _fail(jobs: list[_Job[Any]], error: BaseException) -> None:
    """Set a database error (locked, full, gone) on all jobs, because each of them would also wait and fail."""
    for job in jobs:
        job.error = error
