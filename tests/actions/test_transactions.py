"""Group commit when something fails: nobody waits for ever, nobody is answered for what is not committed."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from memoryhub.actions import transactions
from memoryhub.actions.transactions import _commit, _Job


def failing(error: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise error

    return work


@pytest.mark.django_db
def test_a_piece_of_work_that_fails_alone_leaves_the_others_committed() -> None:
    jobs = [_Job(lambda: "first"), _Job(failing(LookupError("mine"))), _Job(lambda: "last")]
    _commit(jobs)
    assert [job.result for job in jobs] == ["first", None, "last"]
    assert [type(job.error) for job in jobs] == [type(None), LookupError, type(None)]


def test_a_locked_database_is_waited_for_once_and_not_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []

    @contextmanager
    def locked() -> Iterator[None]:
        waits.append(1)
        raise OperationalError("database is locked")
        yield

    monkeypatch.setattr(transactions, "writing", locked)
    jobs = [_Job(failing(AssertionError("ran"))) for _ in range(16)]
    _commit(jobs)
    assert len(waits) == 1
    assert all(isinstance(job.error, OperationalError) for job in jobs)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL locks rows")
@pytest.mark.django_db(transaction=True)
def test_threads_that_wait_for_another_process_do_not_wait_one_after_the_other() -> None:
    wait, waited, errors = 0.5, [], []

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        ready.wait()
        began = time.monotonic()
        try:
            with transactions.writing():
                pass
        except OperationalError as error:
            errors.append(str(error))
        finally:
            waited.append(time.monotonic() - began)
            connection.close()

    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ready = threading.Barrier(8)
    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.execute("ROLLBACK")
    other.close()
    assert errors == ["database is locked"] * 8
    assert max(waited) < 4 * wait, "each would wait for itself: eight times as long"
    with transactions.writing():
        pass


@pytest.mark.django_db
def test_a_database_that_goes_away_between_two_pieces_fails_the_rest_at_once() -> None:
    tried = []

    def gone() -> None:
        tried.append(1)
        raise OperationalError("disk I/O error") if len(tried) > 1 else IntegrityError("twice")

    jobs = [_Job(gone), _Job(gone), _Job(gone)]
    _commit(jobs)
    assert len(tried) == 2
    assert all(isinstance(job.error, OperationalError) for job in jobs)


def test_the_committer_answers_and_goes_on_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([SystemExit("out"), None])

    def commit(jobs: list[Any]) -> None:
        if error := next(answers):
            raise error
        for job in jobs:
            job.result = "done"

    monkeypatch.setattr(transactions, "_commit", commit)
    jobs: list[_Job[Any]] = [_Job(lambda: None), _Job(lambda: None)]
    waiting = transactions.queue.SimpleQueue[_Job[Any]]()
    monkeypatch.setattr(transactions, "_jobs", waiting)
    threading.Thread(target=transactions._commit_forever, daemon=True).start()
    for job in jobs:
        waiting.put(job)
        assert job.committed.acquire(timeout=5)
        time.sleep(0.01)
    assert isinstance(jobs[0].error, SystemExit)
    assert jobs[1].result == "done"


@pytest.mark.django_db
def test_whoever_waits_for_a_lock_has_given_up_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a refused call, which writes its entry itself, and the committer would wait for each other for ever."""
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    with transactions.my_turn():
        assert transactions._turn.locked()
        with transactions.writing():
            assert transactions._turn.locked() == (connection.vendor != "sqlite")
    assert not transactions._turn.locked()


def test_a_turn_ends_with_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    with pytest.raises(LookupError), transactions.my_turn():
        raise LookupError
    assert not transactions._turn.locked()


def test_the_hub_is_busy_while_a_call_is_answered_or_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    assert not transactions.is_busy()
    with transactions.my_turn():
        assert transactions.is_busy()
    job = _Job(lambda: None)
    transactions._jobs.put(job)
    assert transactions.is_busy()
    assert transactions._jobs.get() is job
    assert not transactions.is_busy()
