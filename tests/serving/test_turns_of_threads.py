"""No key and no browser takes all threads, whatever its requests do."""

import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import RequestFactory

from memoryhub.models import Key, User
from memoryhub.serving.answers import Answers
from memoryhub.serving.django_side import DjangoSide
from memoryhub.serving.pool import Pool
from tests.support.fixtures import signed_in


class Held:
    """Jobs that hold their threads until they are let go."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.let_go, self.running = pool, threading.Event(), threading.Semaphore(0)

    def offer(self, whose: object) -> bool:
        return self.pool.offer(self._job, whose)

    def _job(self, _: bool) -> None:
        self.running.release()
        self.let_go.wait(30)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.running.acquire(timeout=10)


@pytest.fixture
def held() -> Any:
    pool = Pool(4, most_waiting=8)
    pool.start()
    held = Held(pool)
    yield held
    held.let_go.set()


def test_one_key_has_at_most_half_of_the_threads_and_of_the_places(held: Held) -> None:
    taken = [held.offer("busy") for _ in range(12)]
    held.wait_for(2)
    assert 4 <= taken.count(True) <= 6
    done = threading.Event()
    assert held.pool.offer(lambda _: done.set(), "other")
    assert done.wait(10), "the other half is free"
    held.let_go.set()
    held.wait_for(taken.count(True) - 2)


def test_two_keys_may_have_all_threads(held: Held) -> None:
    assert all(held.offer(whose) for whose in ("one", "one", "two", "two"))
    held.wait_for(4)


def test_whose_a_request_is_and_that_guesses_are_their_addresss(settings: Any) -> None:
    """Each guess had turns and places of its own: 200 connections with made-up cookies made people wait for seconds."""
    settings.TRUSTED_PROXIES = ["10.0.0.1"]
    side = DjangoSide(None)  # type: ignore[arg-type]
    side.keys.note("mh_secret", "key_1")
    side.people.note("abc", "user_1")

    def whose(address: str = "192.0.2.1", **environ: str) -> object:
        return side.whose({"REMOTE_ADDR": address, **environ})

    assert whose(HTTP_AUTHORIZATION="Bearer mh_secret") == whose(HTTP_X_API_KEY="mh_secret") == "key_1"
    assert whose(HTTP_COOKIE="sessionid=abc; theme=dark") == whose("192.0.2.2", HTTP_COOKIE="sessionid=abc") == "user_1"
    nobody = whose()
    assert nobody not in (None, "192.0.2.1", whose("192.0.2.2"))
    guesses = [{"HTTP_AUTHORIZATION": f"Bearer {guess}"} for guess in ("key_1", "user_1", "abc")]
    guesses += [{"HTTP_COOKIE": f"sessionid={guess}"} for guess in ("key_1", "user_1", "mh_secret", "def", "")]
    assert {whose(**guess) for guess in guesses} == {nobody}
    assert whose(HTTP_X_FORWARDED_FOR="192.0.2.9") == whose("10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.1") == nobody
    assert whose("2001:db8::1") == whose("2001:db8::2") != whose("2001:db8:0:1::1")


@pytest.mark.django_db(transaction=True)
def test_keys_and_people_are_known_once_they_were_answered(key: str, alice: User, tmp_path: Path) -> None:
    side = DjangoSide(Answers(tmp_path))
    session = signed_in(alice).cookies["sessionid"].value

    def whose_after(path: str, **headers: str) -> object:
        environ = {**RequestFactory().get(path).environ, "REMOTE_ADDR": "192.0.2.1", **headers}
        side.answer(Mock(), environ, None, lambda: None, 20.0, too_late=False)
        return side.whose(environ)

    assert whose_after("/", HTTP_COOKIE=f"sessionid={session}") == alice.pk
    assert whose_after("/v1/memory_stores", HTTP_X_API_KEY=key) == Key.objects.get().pk
    nobody = side.whose({"REMOTE_ADDR": "192.0.2.1"})
    assert whose_after("/", HTTP_COOKIE="sessionid=guess") == nobody
    assert whose_after("/v1/memory_stores", HTTP_X_API_KEY="guess") == nobody


def test_what_waited_too_long_is_refused_and_leaves_its_place_to_others() -> None:
    """One thread, which a key holds; the key's next job is ready, and one more waits aside."""
    pool = Pool(1, most_waiting=4, longest_wait=0.05)
    pool.start()
    held = Held(pool)
    assert held.offer("busy")
    held.wait_for(1)
    refused: list[bool] = []
    assert pool.offer(refused.append, "busy") and pool.offer(refused.append, "other")
    pool.refuse_late()
    assert refused == []
    time.sleep(0.1)
    assert pool.offer(lambda _: None, "other"), "it has not waited yet"
    pool.refuse_late()
    assert refused == [True, True] and pool._jobs.all_waiting() == 1
    held.let_go.set()
    done = threading.Event()
    assert pool.offer(lambda too_late: done.set(), "busy")
    assert done.wait(10)
