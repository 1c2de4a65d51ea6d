"""What the tests of the server share: a memory store in the hub that they all use."""

import pytest

from tests.api.server import Server
from tests.serving.clients import Desk


@pytest.fixture(scope="module")
def desk(server: Server) -> Desk:
    return Desk(server, *server.new_store())
