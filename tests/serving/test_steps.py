"""A request goes on in the thread that brings what it waited for: no event loop has to be woken, or to run."""

import contextvars
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from memoryhub.serving.bodies import Body
from memoryhub.serving.steps import Loop, Steps, result_of


@pytest.fixture
def loop() -> Iterator[Loop]:
    """An event loop that does not run."""
    loop = Loop()
    yield loop
    loop.close()


class Part:
    """granian's future of a part of a body, which its thread tells to the event loop that it was given."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.state, self.bytes = loop, "waits", b""

    def __await__(self) -> Iterator["Part"]:
        while self.state != "came":
            yield self
        return self.bytes

    def add_done_callback(self, call: Steps) -> None:
        self.call = call

    def done(self) -> bool:
        return self.state != "waits"

    def cancelled(self) -> bool:
        return self.state == "cancelled"

    def cancel(self) -> None:
        self.state = "cancelled"
        self.loop.call_soon(self.call, self, context=contextvars.copy_context())

    def come(self, bytes: bytes) -> None:
        self.state, self.bytes = "came", bytes
        self.loop.call_soon_threadsafe(self.call, self, context=contextvars.copy_context())


class Protocol:
    """A request whose body comes in these parts."""

    def __init__(self, *parts: Part) -> None:
        self.parts = iter(parts)

    def __aiter__(self) -> "Protocol":
        return self

    def __anext__(self) -> Part:
        return next(self.parts)


def begin(loop: Loop, request: Coroutine[Any, Any, None]) -> None:
    """As granian does it, in its own thread."""

    def make_task(request: Coroutine[Any, Any, None], watcher: object) -> None:
        raise AssertionError("a task would wait for the event loop")

    loop.call_soon_threadsafe(make_task, request, object(), context=contextvars.copy_context())


def test_a_request_is_begun_and_continued_in_the_threads_that_have_its_news(loop: Loop) -> None:
    seen: list[object] = []
    answered: Future[str] = Future()

    async def request() -> None:
        seen.append(threading.get_ident())
        seen.append(await result_of(answered))
        seen.append(threading.get_ident())

    with ThreadPoolExecutor(1) as granian, ThreadPoolExecutor(1) as pool:
        granian.submit(begin, loop, request()).result()
        pool.submit(answered.set_result, "an answer").result()
        assert seen == [
            granian.submit(threading.get_ident).result(),
            "an answer",
            pool.submit(threading.get_ident).result(),
        ]


def test_a_result_that_has_come_already_is_not_waited_for(loop: Loop) -> None:
    seen: list[str] = []
    answered: Future[str] = Future()
    answered.set_result("an answer")

    async def request() -> None:
        seen.append(await result_of(answered))

    begin(loop, request())
    assert seen == ["an answer"]


def test_a_body_is_read_part_by_part_until_it_is_whole_or_cut(loop: Loop) -> None:
    parts = [Part(loop), Part(loop)]
    bodies = [Body(Protocol(*parts), 10, 100), Body(Protocol(Part(loop)), 10, 100)]
    ends: list[str] = []

    async def request(body: Body) -> None:
        try:
            ends.append((await body.read()).value)
        except BaseException as error:
            ends.append(type(error).__name__)

    for body in bodies:
        begin(loop, request(body))
    parts[0].come(b"01234")
    assert ends == []
    bodies[1].cut()
    assert ends == ["CancelledError"]
    parts[1].come(b"56789")
    assert ends == ["CancelledError", "whole"]
    assert bodies[0].stream().read() == b"0123456789"


def test_what_the_hub_itself_gives_to_the_event_loop_waits_for_it(loop: Loop) -> None:
    seen: list[str] = []
    loop.call_soon_threadsafe(seen.append, "a")
    loop.call_soon(seen.append, "b")
    assert seen == []
    loop.call_soon(loop.stop)
    with ThreadPoolExecutor(1) as thread:  # in this one the loop of a browser test may run already
        thread.submit(loop.run_forever).result()
    assert seen == ["a", "b"]
