"""Fixtures of the actions' tests."""

import pytest

from tests.actions.core.trees import make
from tests.api.harness import Hub, new_hub


@pytest.fixture
def hub(db: None) -> Hub:
    """A new store with a key that may write to it."""
    return new_hub()


@pytest.fixture
def filled(hub: Hub) -> Hub:
    make(hub, "/a/b/1", "/a/b/2", "/a/c/d/3", "/a0", "/ab/4", "/x")
    return hub
