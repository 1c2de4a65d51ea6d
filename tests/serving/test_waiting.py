"""Requests that wait for a thread: those that waited too long are refused whole, and can be sent again."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from memoryhub.models import MemoryStore
from memoryhub.serving import pool
from memoryhub.serving.application import Application
from memoryhub.serving.steps import Steps
from tests.api.malformed import BLOCK


class Protocol:
    """granian's side of one request: its body, and the answer that it is given."""

    def __init__(self, body: bytes) -> None:
        self.body, self.status, self.headers = body, 0, {}
        self.answered = threading.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status, self.headers = status, dict(headers)
        self.answered.set()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/v1/memory_stores/{}/tool_calls", "/mcp/{}", "/stores/{}/imports/new"])
def test_a_request_that_waited_too_long_for_a_thread_is_never_run_without_its_body(
    path: str, store: MemoryStore, key: str
) -> None:
    """A valid key got 400 or 401, as if it had sent nothing, and no client sends such a request again."""
    body = json.dumps({**BLOCK, "id": "waited"}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}", "content-length": str(len(body))}
    if "imports" in path:
        headers |= {"content-type": "multipart/form-data; boundary=x", "content-length": str(8 * 1024 * 1024)}
    scope = SimpleNamespace(
        path=path.format(store.pk), client="127.0.0.1:40000", server="127.0.0.1:8000", method="POST", query_string="",
        http_version="1.1", scheme="http", headers=headers,
    )  # fmt: skip
    protocol = Protocol(body)

    application = Application()
    application.pool = pool.Pool(1, longest_wait=0.1)
    application.pool.start()
    application.pool.offer(lambda too_late: time.sleep(0.5))
    Steps(application.__rsgi__(scope, protocol))()
    assert protocol.answered.wait(30)
    assert (protocol.status, protocol.headers["Retry-After"]) == (503, "1")


@pytest.mark.django_db(transaction=True)
def test_a_request_is_refused_at_its_time_although_all_threads_stay_busy(store: MemoryStore, key: str) -> None:
    """It waited until a thread was free, and its client for as long."""
    body, busy = b'{"format": "jsonl"}', threading.Event()
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}", "content-length": str(len(body))}
    scope = SimpleNamespace(
        path=f"/v1/memory_stores/{store.pk}/export", client="127.0.0.1:40000", server="127.0.0.1:8000", method="POST",
        query_string="", http_version="1.1", scheme="http", headers=headers,
    )  # fmt: skip
    protocol, application = Protocol(body), Application()
    application.heavy = pool.Pool(1, longest_wait=0.1)
    application.loop = asyncio.new_event_loop()
    application.pool.start()
    application.heavy.start()
    application.heavy.offer(lambda too_late: busy.wait(30) and None)
    Steps(application.__rsgi__(scope, protocol))()
    deadline = time.monotonic() + 10
    while not protocol.status and time.monotonic() < deadline:
        application._tick()
        time.sleep(0.05)
    busy.set()
    application.loop.close()
    assert (protocol.status, protocol.headers["Retry-After"]) == (503, "1")
