"""Fixtures of the actions' tests."""

import pytest

from tests.api.harness import Hub, new_hub


@pytest.fixture
def hub(db: None) -> Hub:
    """A new store with a key that may write to it."""
    return new_hub()
