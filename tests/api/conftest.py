"""Fixtures of the machines' door."""

from collections.abc import Iterator

import pytest

from memoryhub.actions import searching
from tests.api.harness import Hub, new_hub
from tests.api.server import Server, served


@pytest.fixture
def hub(db: None, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A new store with a key that may write to it; its searches have all the time that a busy machine needs."""
    monkeypatch.setattr(searching, "SECONDS", 60)
    return new_hub()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hub in processes of its own, shared by the tests that need real connections."""
    with served(tmp_path_factory.mktemp("served")) as running:
        yield running
