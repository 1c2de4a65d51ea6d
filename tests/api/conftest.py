"""Fixtures of the machines' door."""

from collections.abc import Iterator

import pytest

from memoryhub.actions.search import search as searching
from tests.api.harness import Hub, new_hub
from tests.api.server import Server


@pytest.fixture
def hub(db: None, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A new store with a key that may write to it; its searches have all the time that a busy machine needs."""
    monkeypatch.setattr(searching, "SECONDS", 60)
    return new_hub()


@pytest.fixture(scope="module")
def audit_is_right(server: Server) -> Iterator[None]:
    """What the tests of a module leave on the server that they share is verified once, after all of them."""
    yield
    verified = server.run("verify_audit", check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
