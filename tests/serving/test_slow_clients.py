"""Clients that hold on to what they have: none of them keeps another one waiting."""

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anthropic
import httpx
import pytest

from tests.api.malformed import BLOCK
from tests.api.server import Server, served
from tests.serving.clients import Desk, answer_on, asks_for_export, assert_is_of_its_door
from tests.support.asynchronous import run

MANY = 200

LARGE = "x" * 100_000

HANGING = ("/v1/memory_stores/{}/tool_calls", "/mcp", "/sign-in")


@pytest.fixture(scope="module", autouse=True)
def paused(desk: Desk) -> Iterator[dict[str, socket.socket]]:
    """A connection to each of HANGING whose body pauses while the other tests run."""
    with ExitStack() as stack:
        connections = {path: stack.enter_context(contextlib.closing(desk.connect())) for path in HANGING}
        for path, connection in connections.items():
            connection.settimeout(60)
            connection.sendall(desk.head(path.format(desk.store), "Content-Length: 1000") + b"{")
        yield connections


@dataclass(slots=True)
class Readers:
    """One connection has asked for an export and takes nothing of it; another one takes it slowly, in a thread."""

    unread: socket.socket
    slow: socket.socket
    taken: bytearray = field(default_factory=bytearray)
    hurry: threading.Event = field(default_factory=threading.Event)

    @property
    def is_whole(self) -> bool:
        """Whether the last line of the export has come."""
        return b'"end"' in self.taken[-200:]

    def take(self) -> None:
        with suppress(OSError):  # the connection is closed when the tests are over
            while not self.is_whole and (more := self.slow.recv(1 << 20 if self.hurry.is_set() else 2048)):
                self.taken += more
                self.hurry.wait(0.1)


@pytest.fixture(scope="module", autouse=True)
def readers(desk: Desk) -> Iterator[Readers]:
    """At work while the other tests run; what they have asked for is more than the kernel keeps."""
    agent = desk.agent()
    for n in range(100):
        assert agent.call(f"unread-{n}", command="create", path=f"/memories/unread/{n}.md", file_text=LARGE)[0] == "ok"
    with ExitStack() as stack:
        found = Readers(asks_for_export(desk, stack), asks_for_export(desk, stack))
        found.slow.settimeout(120)
        thread = threading.Thread(target=found.take, daemon=True)
        thread.start()
        yield found


def test_requests_are_served_beside_many_that_send_slowly_and_many_that_read_slowly(desk: Desk) -> None:
    agent = desk.agent()
    for n in range(8):
        assert agent.call(f"large-{n}", command="create", path=f"/memories/large/{n}.md", file_text=LARGE)[0] == "ok"
    slow = [
        desk.head(path, "Content-Length: 1000", key=key) + b"{"
        for path, key in ((desk.tool_calls, None), (desk.tool_calls, ""), ("/mcp", None), ("/sign-in", ""))
    ]
    with ExitStack() as stack:
        desk.hang(stack, *slow * (MANY // len(slow)))
        for _ in range(MANY):
            asks_for_export(desk, stack)
        taken = []
        for n in range(30):
            begun = time.monotonic()
            assert agent.call(f"among-{n}", command="view", path="/memories")[0] == "ok"
            taken.append(time.monotonic() - begun)
        assert httpx.get(f"http://127.0.0.1:{desk.server.port}/sign-in", timeout=30).status_code == 200
    assert max(taken) < 30  # on any machine; they take milliseconds, and without a thread for them as long as one likes


@pytest.mark.long
def test_an_export_that_is_read_slowly_comes_whole(desk: Desk) -> None:
    agent = desk.agent()
    agent.call("slow-1", command="create", path="/memories/slow/1.md", file_text=LARGE)
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{desk.server.port}", timeout=60) as client,
        client.stream(
            "POST", f"/v1/memory_stores/{desk.store}/export", json={"format": "jsonl", "history": False},
            headers={"Authorization": f"Bearer {desk.secret}"},
        ) as answer,
    ):  # fmt: skip
        data = b""
        for chunk in answer.iter_raw(65536):
            data += chunk
            time.sleep(0.005)
    assert len(data) == int(answer.headers["content-length"])
    assert json.loads(data.splitlines()[-1])["type"] == "end"


@pytest.mark.parametrize("path", ["tool_calls", "export", "/mcp"])
def test_a_wrong_key_is_refused_before_the_body_is_there(desk: Desk, path: str) -> None:
    address = path if path.startswith("/") else f"/v1/memory_stores/{desk.store}/{path}"
    for key in ("mh_wrong", ""):
        assert desk.status(desk.head(address, "Content-Length: 1000", key=key)) == 401
    assert desk.status(desk.head(address, "Transfer-Encoding: chunked", key="mh_wrong")) == 401


def test_a_method_is_refused_before_the_key(desk: Desk) -> None:
    head = desk.head(desk.tool_calls, "Content-Length: 1000", key="mh_wrong").replace(b"POST", b"PUT")
    assert desk.status(head) == 405


def test_an_async_client_hears_that_its_body_is_too_large(desk: Desk) -> None:
    async def send(size: int) -> int:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{desk.server.port}", timeout=60) as client:
            answer = await client.post(
                desk.tool_calls, content=b"x" * size, headers={"Authorization": f"Bearer {desk.secret}"}
            )
            return answer.status_code

    for size in (1024 * 1024 + 1, 3_000_000, 20_000_000):
        assert run(send(size)) == 413


def test_the_sdk_hears_that_its_body_is_too_large(desk: Desk) -> None:
    async def send() -> None:
        async with anthropic.AsyncAnthropic(
            base_url=f"http://127.0.0.1:{desk.server.port}", api_key=desk.secret, max_retries=0
        ) as client:
            await client.beta.memory_stores.memories.create(desk.store, path="/large.md", content="x" * 3_000_000)

    with pytest.raises(anthropic.APIStatusError) as raised:
        run(send())
    assert raised.value.status_code == 413


def test_a_connection_serves_the_next_request_after_a_body_that_was_too_large(desk: Desk) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{desk.server.port}", timeout=60) as client:
        headers = {"Authorization": f"Bearer {desk.secret}"}
        assert client.post(desk.tool_calls, content=b"x" * 2_000_000, headers=headers).status_code == 413
        assert client.post(desk.tool_calls, json={**BLOCK, "id": "next"}, headers=headers).status_code == 200


def test_bodies_that_vanish_leave_room_for_others(desk: Desk) -> None:
    with ExitStack() as stack:
        desk.hang(stack, *[desk.head(desk.tool_calls, "Content-Length: 100000") + b'{"type":'] * 300)
    assert desk.agent().call("after-300", command="view", path="/memories")[0] == "ok"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hub whose processes may have no more than 400 descriptors."""
    with served(tmp_path_factory.mktemp("narrow"), descriptors=400) as running:
        yield running


def test_more_idle_connections_than_descriptors_leave_room_for_others(narrow: Server) -> None:
    desk = Desk(narrow, *narrow.new_store())
    with ExitStack() as stack:
        desk.hang(stack, *[b""] * 600)
        for n in range(3):
            assert desk.agent().call(f"room-{n}", command="view", path="/memories")[0] == "ok"


@pytest.mark.parametrize("path", HANGING)
def test_a_body_that_pauses_for_too_long_is_given_up_in_the_words_of_its_door(
    desk: Desk, paused: dict[str, socket.socket], path: str
) -> None:
    answer = answer_on(paused[path])
    assert answer.status == 408
    assert_is_of_its_door(path, answer)


@pytest.mark.push
def test_who_does_not_take_an_answer_is_disconnected_and_who_takes_it_slowly_is_not(
    desk: Desk, readers: Readers
) -> None:
    client = readers.unread.getsockname()[1]
    end = time.monotonic() + 120
    while kept_by_kernel(desk.server.port, client):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert is_reset(readers.unread)
    readers.hurry.set()
    while not readers.is_whole:
        assert time.monotonic() < end + 60
        time.sleep(0.1)


def is_reset(connection: socket.socket) -> bool:
    """Whether it ends, after what is left of it, with a reset: so a client knows that it was cut off."""
    try:
        while connection.recv(1 << 20):
            continue
    except ConnectionResetError:
        return True
    return False


def kept_by_kernel(server: int, client: int) -> bool:
    """Whether there is a connection between these ports on the server's side, even one that is being closed."""
    ends = f":{server:04X} [0-9A-F]+:{client:04X} "
    return re.search(ends, Path("/proc/net/tcp").read_text()) is not None
