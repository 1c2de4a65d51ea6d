"""The client against a hub in processes of its own."""

from collections.abc import Callable, Iterator

import pytest

from memoryhub.client import AsyncHubMemoryTool, HubMemoryTool
from tests.api.server import served
from tests.client.remote import Place, Remote
from tests.support.asynchronous import one_loop

STORES = 80
MUCH = {"limit_memory_bytes": 4_000_000, "limit_total_bytes": 100_000_000}
"""For a memory of 1,000,000 lines."""


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with served(tmp_path_factory.mktemp("client")) as server:
        yield Place.on(server, STORES, **MUCH)


@pytest.fixture
def run() -> Iterator[Callable[[object], object]]:
    """Waits for a coroutine, all of one test in one event loop."""
    with one_loop() as run:
        yield run


@pytest.fixture(params=[HubMemoryTool, AsyncHubMemoryTool], ids=["sync", "async"])
def remote(request: pytest.FixtureRequest, place: Place, run: Callable[[object], object]) -> Iterator[Remote]:
    """An empty store through each of the two classes."""
    store = place.stores.pop()
    tool = request.param(place.url, place.key, store, session="client-tests")
    found = Remote(tool, run, store)
    yield found
    found.wait(tool.close())
