"""Bodies that are being read have a limit of memory together."""

import asyncio

import pytest

from memoryhub.serving import application
from memoryhub.serving.bodies import Body


class Reading:
    """A task that reads a body."""

    def __init__(self) -> None:
        self.is_cut = False

    def cancel(self) -> None:
        self.is_cut = True


def test_where_bodies_take_too_much_memory_those_that_have_paused_for_longest_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody who fills the memory and then sends a byte now and then keeps nobody else's body out."""
    bodies = [(50, 15), (50, 10), (50, 5), (50, 0)]
    assert cut_of(bodies, monkeypatch) == [True, True, False, False]


def test_many_large_bodies_that_come_on_byte_by_byte_do_not_displace_a_small_one_that_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Anybody may send a form: many of them fill the memory, and none of them ever pauses for long."""
    assert cut_of([(1, 5), (50, 0.5), (50, 0.4), (50, 0.3)], monkeypatch) == [False, True, True, False]


def cut_of(bodies: list[tuple[int, float]], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which bodies, each so many bytes after so long a pause, are given up where 100 bytes may be in memory."""
    monkeypatch.setattr(application, "MOST_IN_MEMORY", 100)
    hub = application.Application()
    loop = asyncio.new_event_loop()
    monkeypatch.setattr(hub, "loop", loop, raising=False)
    now, tasks = loop.time(), [Reading() for _ in bodies]
    for task, (size, pause) in zip(tasks, bodies, strict=True):
        body = Body(None, 1_000, 1_000)
        body.kept, body.received, body.last = size, size, now - pause
        hub.bodies.add(body)
        hub.reading[task] = body  # type: ignore[index]
    hub._tick()
    loop.close()
    return [task.is_cut for task in tasks]
