"""A hub in processes of its own, whose threads can all be held at once."""

from collections.abc import Iterator

import pytest

from tests.api.server import Server, served
from tests.serving.clients import Desk


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("serving")) as running:
        yield running


@pytest.fixture(scope="module")
def desk(server: Server) -> Desk:
    return Desk(server, *server.new_store())
