"""Bodies that are being read have a limit of memory together."""

import asyncio

import pytest

from memoryhub.serving import application
from memoryhub.serving.bodies import Body


class Reading(Body):
    """A body of which so many bytes were read, the last of them so long ago."""

    def __init__(self, size: int, last: float) -> None:
        super().__init__(None, 1_000, 1_000)
        self.kept, self.received, self.last = size, size, last
        self.is_cut = False

    def cut(self) -> None:
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
    read = [Reading(size, loop.time() - pause) for size, pause in bodies]
    hub.bodies.update(read)
    hub.reading.update(read)
    hub._tick()
    loop.close()
    return [body.is_cut for body in read]
