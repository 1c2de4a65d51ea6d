"""A request that works too long is stopped and refused, whatever it does: nothing of it stays."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import OperationalError, connection, connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import _Job, is_open, writing
from memoryhub.database import watch
from memoryhub.database.watch import TookTooMuch, Watch
from memoryhub.models import MemoryStore
from memoryhub.serving import django_side
from memoryhub.serving.answers import Answers
from memoryhub.serving.django_side import DjangoSide
from memoryhub.serving.pool import Pool

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

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


def in_thread(work: Callable[[], object]) -> None:
    """Do work as a thread of the pool does; raise its error here."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result(60)


def stopped(watched: Watch, work: Callable[[], object], limit: float = 0.2) -> None:
    with pytest.raises(TookTooMuch):
        watched.run(work, limit)


def for_ever() -> None:
    while True:
        pass


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


def test_a_transaction_is_rolled_back_and_the_next_one_works(watched: Watch, store: MemoryStore) -> None:
    def half() -> None:
        with writing():
            rename(store)
            for_ever()

    def work() -> None:
        stopped(watched, half)
        assert not is_open()
        watched.run(lambda: MemoryStore.objects.get(pk=store.pk), 60)

    in_thread(work)
    store.refresh_from_db()
    assert store.description != "half done"
    in_thread(lambda: watched.run(partial(_write, store), 60))


def _write(store: MemoryStore) -> None:
    with writing():
        assert MemoryStore.objects.filter(pk=store.pk).exists()


def test_work_that_ends_in_time_is_left_alone(watched: Watch) -> None:
    results: Results = []

    def work() -> None:
        for number in range(300):
            watched.run(partial(results.append, number), 0.001)
        watched.run(lambda: time.sleep(0.5), 0.4)  # waiting is no work, up to three times as long
        _busy(time.thread_time() + 0.1)

    in_thread(work)
    assert results == list(range(300))


def test_waiting_is_stopped_after_three_times_as_long_where_it_may_be_for_postgresql(watched: Watch) -> None:
    """On SQLite it is for another request or a disk. What waits for its commit there will be committed."""
    results: Results = []

    def waits() -> None:
        for _ in range(150):
            time.sleep(0.01)
        results.append("ended")

    in_thread(partial(stopped if connection.vendor == "postgresql" else Watch.run, watched, waits, 0.2))
    assert results == ([] if connection.vendor == "postgresql" else ["ended"])


def test_a_stop_while_a_thread_waits_for_its_turn_leaves_the_turn_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises the stop once the thread has the lock: just before it could note that."""
    committer_runs = threading.Event()
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)
    watched, waiting = Watch(transactions.tidy_up), threading.Event()

    def waits() -> None:
        waiting.set()
        with transactions.my_turn():
            pass

    with ThreadPoolExecutor(1) as other:
        with transactions.my_turn():
            ended = other.submit(partial(in_thread, partial(stopped, watched, waits)))
            assert waiting.wait(10)
            time.sleep(0.2)
            with watched._lock:
                next(iter(watched._running.values())).stop(time.monotonic())
        ended.result(10)
        assert not other.submit(transactions._turn.is_taken).result(10)


def test_the_thread_that_commits_goes_on_after_a_stop_while_it_waited(
    watched: Watch, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it can be where another request takes all memory."""
    monkeypatch.setattr(transactions, "_watch", watched)
    waiting, later = _Job(partial(_write, store)), _Job(int)

    def stop_soon(*_: object) -> None:
        watched._running[threading.get_ident()].stop(time.monotonic())

    def answer() -> None:
        with monkeypatch.context() as stopping:
            stopping.setattr(transactions, "writing", stop_soon)
            transactions._answer([waiting])
        transactions._answer([later])

    in_thread(answer)
    assert isinstance(waiting.error, OperationalError)
    assert later.error is None and later.has_ended is False


def test_an_error_of_the_work_is_its_own(watched: Watch) -> None:
    def fails() -> None:
        raise ValueError("of its own")

    def work() -> None:
        with pytest.raises(ValueError, match="of its own"):
            watched.run(fails, 60)

    in_thread(work)


def test_stops_at_any_moment_leave_no_thread_with_a_late_one(watched: Watch) -> None:
    """Works of about the length of the limit end or are stopped; after either, nothing is raised."""
    ends: list[str] = []

    def work() -> None:
        for number in range(40):
            until = time.thread_time() + 0.05 + number / 1000
            try:
                watched.run(lambda until=until: _busy(until), 0.06)
                ends.append("done")
            except TookTooMuch:
                ends.append("stopped")
            _busy(time.thread_time() + 0.03)

    in_thread(work)
    assert len(ends) == 40
    assert "stopped" in ends


def _busy(until: float) -> None:
    while time.thread_time() < until:
        pass


def test_a_request_that_takes_the_memory_is_stopped_and_another_one_is_not(
    watched: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MOST_MEMORY", 100 * 1024 * 1024)
    results: Results = []

    def grows() -> None:
        kept: list[bytes] = []
        while True:
            kept.append(b"x" * 1024 * 1024 + bytes(len(kept)))

    def work() -> None:
        stopped(watched, grows, 60)
        watched.run(partial(_busy, time.thread_time() + 0.2), 60)

    def beside() -> None:
        watched.run(lambda: time.sleep(0.5), 60)
        results.append("left alone")

    with ThreadPoolExecutor(1) as other:
        other.submit(in_thread, beside)
        in_thread(work)
    assert results == ["left alone"]


@pytest.mark.parametrize("alone", [False, True])
def test_a_call_that_takes_too_long_does_not_stop_the_thread_that_commits(
    alone: bool, watched: Watch, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no call failed by itself, all were to be committed together, and none is. Else each is run alone."""
    monkeypatch.setattr(transactions, "_watch", watched)
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
    assert isinstance(last.error, OperationalError)
    assert isinstance(first.error, type(None) if alone else OperationalError)
    assert later.result == 0 and later.error is None
    assert all(job.committed.acquire(timeout=0) for job in jobs), "everyone is answered"


def _fails() -> None:
    raise LookupError


@pytest.mark.parametrize("path", ["/stores", "/v1/memory_stores"])
def test_its_client_is_told_and_is_not_asked_to_send_it_again(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*_: object) -> HttpResponse:
        for_ever()
        return HttpResponse()

    _told(path, answer, tmp_path, monkeypatch)


def test_a_client_whose_call_was_stopped_in_the_thread_that_commits_is_told_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 500 it would send the call again."""
    side, protocol, finished = DjangoSide(Answers(tmp_path)), Mock(), Mock()

    def stopped_together(_: object, done: Callable[..., None], **__: object) -> bool:
        done(None, TookTooMuch())
        return True

    monkeypatch.setattr(django_side, "answer_together", stopped_together)
    environ = RequestFactory().post("/v1/memory_stores/memstore_1/tool_calls").environ
    assert side.answer_together(protocol, environ, Mock(), finished, Pool(1))
    assert protocol.response_bytes.call_args.args[0] == 413
    finished.assert_called_once_with()


def test_an_answer_that_is_made_piece_by_piece_is_stopped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pieces() -> Any:
        yield b"one"
        for_ever()

    _told("/stores", lambda *_: StreamingHttpResponse(pieces()), tmp_path, monkeypatch)


def _told(path: str, answer: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side, protocol, finished = DjangoSide(Answers(tmp_path)), Mock(), Mock()
    monkeypatch.setattr(WSGIHandler, "get_response", answer)
    monkeypatch.setattr(DjangoSide, "_response_to_program", answer)
    side.watch.start()
    request: HttpRequest = RequestFactory().get(path)
    in_thread(partial(side.answer, protocol, request.environ, None, finished, 0.2, too_late=False))
    (status, headers, content), _ = protocol.response_bytes.call_args
    assert status == 413
    assert "retry-after" not in dict(headers)
    assert b"was stopped" in content
    finished.assert_called_once_with()
