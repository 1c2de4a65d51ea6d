"""Exports and imports wait in a queue of their own: many of them at once keep no call waiting."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.api.app import ROUTERS
from memoryhub.serving import heavy
from memoryhub.serving.application import Application
from tests.api.server import served
from tests.serving.clients import Desk, asks_for_export, has_answer
from tests.support.asynchronous import run
from tests.support.long import LONG

MANY = 60 if LONG else 24


def addresses(resolver: URLResolver, above: str = "") -> Iterator[tuple[str, str]]:
    """(name, address) of each of the people's pages."""
    for pattern in resolver.url_patterns:
        address = above + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, address)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name, "/" + address


def test_every_address_that_exports_takes_a_file_or_erases_is_one_of_heavy_work() -> None:
    named = dict(addresses(get_resolver()))
    exporting = {name: address for name, address in named.items() if name.startswith("export_")}
    assert len(exporting) >= 8
    exporting |= {name: named[name] for name in ("new_import", "copy_store", "selection", "erase", "erase_everywhere")}
    exporting |= {
        path: "/v1" + path for module, _ in ROUTERS for path in module.router.path_operations if "export" in path
    }
    assert "/memory_stores/{memory_store_id}/export" in exporting
    assert [name for name, address in exporting.items() if not heavy.is_heavy(address)] == []


@pytest.mark.parametrize(
    ("path", "waits_there"),
    [("/v1/memory_stores/memstore_1/export", True), ("/v1/nowhere/export", False), ("/mcp/tables/x", False)],
)
def test_who_shows_no_key_takes_no_room_among_heavy_work(path: str, waits_there: bool) -> None:
    """At an address of programs where there is nothing, no key is asked for."""
    application = Application()
    pool = run(application._pool_of({"PATH_INFO": path}))
    assert (pool is application.heavy) == waits_there


@pytest.mark.push
def test_a_call_and_a_page_are_answered_before_exports_that_were_asked_for_earlier(tmp_path: Path) -> None:
    with served(tmp_path, "--threads", "2") as server, ExitStack() as stack:
        desk = Desk(server, *server.new_store())
        agent = desk.agent()
        for n in range(30):
            path = f"/memories/large/{n}.md"
            assert agent.call(f"large-{n}", command="create", path=path, file_text=f"{n} " * 30_000)[0] == "ok"
        asked = [asks_for_export(desk, stack) for _ in range(MANY)]
        assert agent.call("among", command="view", path="/memories")[0] == "ok"
        assert desk.status(b"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") == 200
        assert not all(has_answer(one) for one in asked)
        end = time.monotonic() + 120
        while not all(has_answer(one) for one in asked):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert {one.recv(12, socket.MSG_PEEK) for one in asked} <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
