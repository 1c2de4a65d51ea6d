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
    monkeypatch.setattr(application, "MOST_IN_MEMORY", 100)
    hub = application.Application()
    loop = asyncio.new_event_loop()
    monkeypatch.setattr(hub, "loop", loop, raising=False)
    now, tasks = loop.time(), [Reading() for _ in range(4)]
    for task, pause in zip(tasks, (15, 10, 5, 0), strict=True):
        body = Body(None, 1_000, 1_000)
        body.kept, body.received, body.last = 50, 50, now - pause
        hub.bodies.add(body)
        hub.reading[task] = body  # type: ignore[index]
    hub._tick()
    loop.close()
    assert [task.is_cut for task in tasks] == [True, True, False, False]
