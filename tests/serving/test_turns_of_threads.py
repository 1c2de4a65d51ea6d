"""No key and no browser takes all threads, whatever its requests do."""

import threading
from typing import Any

import pytest

from memoryhub.serving.django_side import DjangoSide
from memoryhub.serving.pool import Pool


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


def test_whose_a_request_is_and_that_no_guess_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    side = DjangoSide(None)  # type: ignore[arg-type]
    monkeypatch.setattr(side.keys, "id_of", {"mh_secret": "key_1"}.get)

    def whose(**environ: str) -> object:
        return side.whose(environ)

    assert whose(HTTP_AUTHORIZATION="Bearer mh_secret") == whose(HTTP_X_API_KEY="mh_secret") == "key_1"
    assert whose(HTTP_AUTHORIZATION="Bearer key_1") not in ("key_1", None)
    mine = whose(HTTP_COOKIE="sessionid=abc; theme=dark")
    assert mine == whose(HTTP_COOKIE="sessionid=abc") != whose(HTTP_COOKIE="sessionid=def")
    assert whose() is None
