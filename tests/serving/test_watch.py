"""A request that works too long is stopped and refused, whatever it does: nothing of it stays."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import _Job, is_open, writing
from memoryhub.database import watch
from memoryhub.database.watch import TookTooMuch, Watch
from memoryhub.models import BackgroundTask, MemoryStore
from tests.serving.watching import busy, for_ever, in_thread, stop_now, stopped
from tests.support.long import LONG, some

pytestmark = pytest.mark.django_db(transaction=True)

FOREVER = {
    "sqlite": "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
    "postgresql": "select pg_sleep(3600)",
}
Results = list[Any]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(watch, "AGAIN_AFTER", 0.2)


@pytest.fixture
def watched() -> Watch:
    watched = Watch()
    watched.start()
    return watched


def whatever_happens() -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:
            continue


def rename(store: MemoryStore) -> None:
    MemoryStore.objects.filter(pk=store.pk).update(description="half done")


def test_python_is_stopped_even_where_it_catches_every_exception(watched: Watch) -> None:
    in_thread(partial(stopped, watched, for_ever))
    in_thread(partial(stopped, watched, whatever_happens))


@pytest.mark.both_databases
def test_a_statement_of_the_database_is_stopped_and_the_thread_gets_another_connection(watched: Watch) -> None:
    results: Results = []

    def endless() -> None:
        with connection.cursor() as cursor:
            cursor.execute(FOREVER[connection.vendor])

    def work() -> None:
        stopped(watched, endless)
        watched.run(lambda: results.append(MemoryStore.objects.count()), 60)

    in_thread(work)
    assert results == [0]


@pytest.mark.both_databases
def test_a_transaction_is_rolled_back_and_the_next_one_works(watched: Watch, store: MemoryStore) -> None:
    drivers: Results = []

    def half() -> None:
        with writing():
            rename(store)
            drivers.append(connection.connection)
            for_ever()

    def work() -> None:
        stopped(watched, half)
        assert connection.vendor == "sqlite" or drivers[0].closed, "the pool does not hand it out again"
        assert not is_open()
        watched.run(lambda: MemoryStore.objects.get(pk=store.pk), 60)

    in_thread(work)
    store.refresh_from_db()
    assert store.description != "half done"
    in_thread(lambda: watched.run(partial(_write, store), 60))


def _write(store: MemoryStore) -> None:
    with writing():
        assert MemoryStore.objects.filter(pk=store.pk).exists()


@pytest.mark.both_databases
def test_work_that_ends_in_time_is_left_alone(watched: Watch) -> None:
    results: Results = []

    def work() -> None:
        for number in range(300):
            watched.run(partial(results.append, number), 0.001)
        watched.run(lambda: time.sleep(0.5), 0.4)  # waiting is no work, up to three times as long
        busy(time.thread_time() + 0.1)

    in_thread(work)
    assert results == list(range(300))


@pytest.mark.both_databases
def test_waiting_is_stopped_after_three_times_as_long_where_it_may_be_for_postgresql(watched: Watch) -> None:
    """On SQLite it is for another request or a disk. What waits for its commit there will be committed."""
    results: Results = []

    def waits() -> None:
        for _ in range(150):
            time.sleep(0.01)
        results.append("ended")

    in_thread(partial(stopped if connection.vendor == "postgresql" else Watch.run, watched, waits, 0.2))
    assert results == ([] if connection.vendor == "postgresql" else ["ended"])


@pytest.mark.both_databases
def test_a_thread_that_waits_for_its_turn_is_stopped_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would raise the stop once the thread has the lock, where nothing gives it up."""
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    watched, waiting = Watch(transactions.tidy_up), threading.Event()

    def waits() -> None:
        waiting.set()
        with transactions.my_turn():
            for_ever()

    with ThreadPoolExecutor(1) as other:
        with transactions.my_turn():
            ended = other.submit(partial(in_thread, partial(stopped, watched, waits)))
            assert waiting.wait(10)
            time.sleep(0.2)
            (running,) = watched._running.values()
            stop_now(running)
            assert not running.was_stopped
        while not running.was_stopped:
            stop_now(running)
        ended.result(10)
        assert not other.submit(transactions._turn.is_taken).result(10)


class Taken:
    """A lock of others, such as those of Django's translations and of the log, and how they take it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def by_itself(self) -> None:
        self.lock.acquire()
        try:
            self.use()
        finally:
            self.lock.release()

    def by_functions(self) -> None:
        self.acquire()
        try:
            self.use()
        finally:
            self.release()

    def by_a_block(self) -> None:
        with self:
            self.use()

    def acquire(self) -> None:
        self.lock.acquire()

    def release(self) -> None:
        self.lock.release()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    def use(self) -> None:
        pass


@pytest.mark.push
@pytest.mark.parametrize("take", [Taken.by_itself, Taken.by_functions, Taken.by_a_block])
def test_no_stop_leaves_a_lock_taken(take: Callable[[Taken], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Django's lock of translations, without which no page is made, nor any other."""
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.001)
    watched, lock = Watch(), Taken()
    watched.start()

    def works() -> None:
        while True:
            take(lock)

    def work() -> None:
        for _ in range(40 if LONG else 15):
            stopped(watched, works, 0.002)
            assert not lock.lock.locked()

    in_thread(work)


@pytest.mark.both_databases
def test_a_page_that_releases_a_hold_is_stopped_as_any_other(watched: Watch) -> None:
    """Its view has the name of what releases a lock."""

    def release() -> None:
        deep(5)

    def deep(steps: int) -> None:
        if steps:
            deep(steps - 1)
        for_ever()

    in_thread(partial(stopped, watched, release))


@pytest.mark.both_databases
def test_a_commit_is_not_stopped_and_who_is_stopped_after_it_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched, commit, worked = Watch(), BaseDatabaseWrapper.commit, []

    def stopping(self: BaseDatabaseWrapper) -> None:
        (running,) = watched._running.values()
        stop_now(running)
        commit(self)
        worked.append(running.worked())

    def work() -> None:
        (running,) = watched._running.values()
        busy(time.thread_time() + 0.1)
        with monkeypatch.context() as patch, writing():
            BackgroundTask.objects.create(node="here", name="figures")
            patch.setattr(BaseDatabaseWrapper, "commit", stopping)
        assert not running.was_stopped
        assert running.worked() < worked[0], "it has as long again for its answer"
        stop_now(running)
        for_ever()

    def watch_it() -> None:
        with pytest.raises(TookTooMuch) as error:
            watched.run(work, 60)
        assert error.value.has_committed

    in_thread(watch_it)
    assert BackgroundTask.objects.exists()


@pytest.mark.both_databases
def test_what_was_stopped_is_not_committed_even_if_it_goes_on(store: MemoryStore) -> None:
    watched = Watch()

    def goes_on() -> None:
        with writing():
            rename(store)
            try:
                stop_now(*watched._running.values())
                for_ever()
            except BaseException:  # as no code should
                pass

    in_thread(partial(stopped, watched, goes_on, 60))
    store.refresh_from_db()
    assert store.description != "half done"


@pytest.mark.both_databases
def test_the_thread_that_commits_goes_on_after_a_stop_while_it_waited(
    watched: Watch, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it can be where another request takes all memory."""
    monkeypatch.setattr(transactions, "watch", watched)
    waiting, later = _Job(partial(_write, store)), _Job(int)

    def stop_soon(*_: object) -> None:
        stop_now(watched._running[threading.get_ident()])

    def answer() -> None:
        with monkeypatch.context() as stopping:
            stopping.setattr(transactions, "writing", stop_soon)
            transactions._answer([waiting])
        transactions._answer([later])

    in_thread(answer)
    assert isinstance(waiting.error, OperationalError)
    assert later.error is None and later.result == 0


@pytest.mark.both_databases
def test_an_error_of_the_work_is_its_own(watched: Watch) -> None:
    def fails() -> None:
        raise ValueError("of its own")

    def work() -> None:
        with pytest.raises(ValueError, match="of its own"):
            watched.run(fails, 60)

    in_thread(work)


@pytest.mark.push
def test_stops_at_any_moment_leave_no_thread_with_a_late_one(watched: Watch) -> None:
    """Works of about the length of the limit end or are stopped; after either, nothing is raised."""
    ends: list[str] = []
    numbers = some(range(40), 3)

    def work() -> None:
        for number in numbers:
            until = time.thread_time() + 0.05 + number / 1000
            try:
                watched.run(lambda until=until: busy(until), 0.06)
                ends.append("done")
            except TookTooMuch:
                ends.append("stopped")
            busy(time.thread_time() + 0.03)

    in_thread(work)
    assert len(ends) == len(numbers)
    assert "stopped" in ends


def test_a_request_that_takes_the_memory_is_stopped_and_another_one_that_works_more_is_not(
    watched: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MOST_MEMORY", 100 * 1024 * 1024)
    began, results = threading.Event(), Results()

    def grows() -> None:
        kept: list[bytes] = []
        while True:
            kept.append(b"x" * 1024 * 1024 + bytes(len(kept)))

    def work() -> None:
        stopped(watched, grows, 60)
        results.append("stopped")

    def beside() -> None:
        busy(time.thread_time() + 0.5)
        began.set()
        while not results:
            busy(time.thread_time() + 0.01)

    with ThreadPoolExecutor(1) as other:
        innocent = other.submit(in_thread, partial(watched.run, beside, 60))
        assert began.wait(60)
        in_thread(work)
        innocent.result(60)


@pytest.mark.both_databases
@pytest.mark.parametrize("alone", [False, True])
def test_a_call_that_takes_too_long_does_not_stop_the_thread_that_commits(
    alone: bool, watched: Watch, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no call failed by itself, all were to be committed together, and none is. Else each is run alone."""
    monkeypatch.setattr(transactions, "watch", watched)
    monkeypatch.setattr(transactions, "LONGEST_WORK", 0.3)

    def endless() -> None:
        with writing():
            for_ever()

    first, slow, last, later = (_Job(work) for work in (partial(_write, store), endless, partial(_write, store), int))
    jobs: list[_Job[Any]] = [first, *([_Job(_fails)] if alone else []), slow, last]

    def answer() -> None:
        transactions._answer(jobs)
        transactions._answer([later])

    in_thread(answer)
    assert isinstance(slow.error, TookTooMuch)
    for other in (first, last):
        assert isinstance(other.error, type(None) if alone else OperationalError)
    assert later.result == 0 and later.error is None
    assert all(job.committed.acquire(timeout=0) for job in jobs), "everyone is answered"


def _fails() -> None:
    raise LookupError
