"""Fixtures of the machines' door."""

import pytest

from memoryhub.actions.search import search as searching
from tests.api.harness import Hub, new_hub


@pytest.fixture
def hub(db: None, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A new store with a key that may write to it; its searches have all the time that a busy machine needs."""
    monkeypatch.setattr(searching, "SECONDS", 60)
    return new_hub()
