"""Group commit when something fails: nobody waits for ever, nobody is answered for what is not committed."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from memoryhub.actions.core import sql, transactions
from memoryhub.actions.core.transactions import _commit, _Job, _Request
from memoryhub.actions.core.transactions.turns import Lines
from memoryhub.models import MemoryStore


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
    waiting = Lines[_Job[Any]]()
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
        assert transactions._turn.is_taken()
        with transactions.writing():
            assert transactions._turn.is_taken() == (connection.vendor != "sqlite")
    assert not transactions._turn.is_taken()


def test_a_turn_ends_with_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    with pytest.raises(LookupError), transactions.my_turn():
        raise LookupError
    assert not transactions._turn.is_taken()


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
    assert transactions._jobs.get() == (None, job)
    assert not transactions.is_busy()


# ------------------------------------------------------------------------------------------- whole requests


class Said:
    """What a few requests were answered: the answer, or the name of the error; and the rows that they left."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        with connection.cursor() as cursor:
            cursor.execute("create table scratch (name text)")

    def request(self, work: Callable[[], str | None], whose: object = None) -> _Request[str | None]:
        return _Request(work, lambda answer, error: self.answers.append(answer or type(error).__name__), whose)

    def commit(self, *works: Callable[[], str | None]) -> None:
        jobs: list[_Job[Any]] = [self.request(work) for work in works]
        _commit(jobs)
        assert self.answers == [], "nobody is answered before the commit"
        for job in jobs:
            job.finish()

    def rows(self) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("select name from scratch order by rowid")
            return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def said(db: None, monkeypatch: pytest.MonkeyPatch) -> Said:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no committer")
    monkeypatch.setattr(transactions._thread, "is_committer", True, raising=False)
    return Said()


def adding(name: str, error: Exception | None = None) -> Callable[[], str]:
    """A request that adds a row, and answers a LookupError that comes after it."""

    def work() -> str:
        try:
            with transactions.writing():
                with connection.cursor() as cursor:
                    cursor.execute("insert into scratch values (%s)", [name])
                if error is not None:
                    raise error
        except LookupError as refused:
            return f"refused: {refused.args[0]}"
        return name

    return work


def test_a_refused_request_leaves_no_row_and_takes_no_other_with_it(said: Said) -> None:
    said.commit(adding("first"), adding("second", LookupError("no")), adding("third"))
    assert said.answers == ["first", "refused: no", "third"]
    assert said.rows() == ["first", "third"]


def test_a_request_that_is_too_much_for_the_committer_goes_elsewhere(said: Said) -> None:
    def large() -> str:
        transactions.require_own_thread()
        return "never"

    said.commit(adding("first"), large, adding("third"))
    assert said.answers == ["first", "NotTogether", "third"]
    assert said.rows() == ["first", "third"]


def test_it_goes_elsewhere_too_where_another_request_of_its_group_fails(said: Said) -> None:
    ran = []

    def large() -> str:
        ran.append(1)
        transactions.require_own_thread()
        return "never"

    said.commit(large, adding("second", LookupError("no")))
    assert said.answers == ["NotTogether", "refused: no"]
    assert len(ran) == 1


def test_it_goes_elsewhere_too_where_its_group_fails_before_it_ran(said: Said) -> None:
    """Each of its calls would wait for the disk, and everybody else for it."""

    def large() -> str:
        transactions.require_own_thread()
        return "answered by the committer"

    said.commit(adding("first", LookupError("no")), large, adding("third"))
    assert said.answers == ["refused: no", "NotTogether", "third"]
    assert said.rows() == ["third"]


def test_an_error_of_the_database_that_a_request_answers_fails_its_whole_group(said: Said) -> None:
    """Half of the group may be gone by then: nobody may hear that it is there."""

    def lost() -> str:
        try:
            raise OperationalError("disk I/O error")
        except OperationalError as error:
            transactions.require_own_thread(error)
            return "503"

    said.commit(adding("first"), lost, adding("third"))
    assert said.answers == ["OperationalError"] * 3
    assert said.rows() == []


def test_a_request_that_sqlite_has_ended_the_transaction_of_fails_its_group(said: Said) -> None:
    def ended() -> str:
        connection.connection.rollback()
        return "the rest would be committed statement by statement"

    with pytest.raises(OperationalError, match="has ended"):
        said.request(ended).run_in_group()


def test_an_answer_that_cannot_be_sent_keeps_nobody_waiting(said: Said, caplog: pytest.LogCaptureFixture) -> None:
    def gone(answer: object, error: object) -> None:
        raise RuntimeError("the client has gone")

    job = _Request(adding("first"), gone)
    _commit([job])
    job.finish()
    assert said.rows() == ["first"]
    assert "could not be sent" in caplog.text


def test_what_comes_while_a_group_runs_is_committed_with_it(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    monkeypatch.setattr(transactions.connections, "require_same_file", lambda: commits.append(1))
    monkeypatch.setattr(transactions, "LONGEST_GROUP", 60)
    late = said.request(adding("late"))

    def first() -> str:
        transactions._jobs.put(late)
        return adding("first")()

    jobs: list[_Job[Any]] = [said.request(first)]
    _commit(jobs)
    assert [job.result for job in jobs] == ["first", "late"]
    assert len(commits) == 2, "before the writes of both, and before either is acknowledged"


def test_a_group_leaves_what_waits_where_its_calls_take_long(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is in a group is answered at its end: one call that takes long must not wait for ten others."""
    monkeypatch.setattr(transactions, "_jobs", Lines(slow_ones_rest=True))

    def slow() -> str:
        began = time.thread_time()
        while time.thread_time() - began < transactions.LONGEST_WAIT:
            pass
        return adding("slow")()

    for _ in range(10):
        transactions._jobs.put(said.request(slow, "busy"), "busy")
    transactions._jobs.put(said.request(adding("quick"), "other"), "other")
    jobs: list[_Job[Any]] = [transactions._jobs.get()[1]]
    _commit(jobs)
    assert [job.result for job in jobs] == ["slow"]
    jobs = [transactions._jobs.get()[1]]
    _commit(jobs)
    assert [job.result for job in jobs] == ["quick"], "what is known to take long is in no group with others"


def test_a_disk_that_is_full_in_the_middle_of_a_request_gives_up_the_reserve(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SQLite said must come through: without its code nobody knows that room can be made."""
    seen: list[BaseException | None] = []

    def give_up(error: BaseException) -> bool:
        seen.append(error.__cause__)
        return False

    def large() -> str:
        try:
            with connection.wrap_database_errors, transactions.writing():
                sql.connect()
                sql.run(sql.Statement("insert into scratch values (zeroblob(%s))"), (free + 256) * size)
        except OperationalError as error:
            transactions.require_own_thread(error)
        return "never"

    monkeypatch.setattr(transactions.disk_space, "give_up", give_up)
    driver = connection.connection
    asked = ("max_page_count", "page_count", "freelist_count", "page_size")
    (most,), (pages,), (free,), (size,) = (driver.execute(f"pragma {name}").fetchone() for name in asked)
    driver.execute(f"pragma max_page_count = {pages}")
    try:
        said.commit(adding("first"), large)
    finally:
        driver.execute(f"pragma max_page_count = {most}")
    assert said.answers == ["OperationalError"] * 2
    assert [getattr(error, "sqlite_errorcode", None) for error in seen] == [sqlite3.SQLITE_FULL]


def test_an_error_that_a_request_keeps_to_itself_commits_nothing_and_says_so(said: Said) -> None:
    """Django rolls back where an error of a query was caught inside a transaction: nobody may hear that it is there."""

    def caught() -> str:
        with transactions.writing():
            adding("second")()
            with contextlib.suppress(IntegrityError):
                MemoryStore.objects.bulk_create([MemoryStore(id="same"), MemoryStore(id="same")])
        return "second"

    said.commit(adding("first"), caught)
    assert said.answers == ["OperationalError"] * 2
    assert said.rows() == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no committer")
@pytest.mark.django_db(transaction=True)
def test_however_many_are_in_line_none_waits_for_another_process_more_than_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait, waited, groups = 0.5, [], 8
    waiting = Lines[_Job[Any]]()
    monkeypatch.setattr(transactions, "_jobs", waiting)
    monkeypatch.setattr(transactions.Last, "in_vain", float("-inf"))
    began = time.monotonic()
    for _ in range(groups * transactions.MOST_TOGETHER):
        waiting.put(_Request(lambda: "never", lambda *_: waited.append(time.monotonic() - began)))
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    while not waiting.empty():
        transactions._answer([waiting.get()[1] for _ in range(transactions.MOST_TOGETHER)])
    other.execute("ROLLBACK")
    other.close()
    connection.close()  # with its short wait
    assert len(waited) == groups * transactions.MOST_TOGETHER
    assert max(waited) < 3 * wait
