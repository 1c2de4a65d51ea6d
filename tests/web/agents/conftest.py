"""A second memory store, for the tests of agents and keys."""

import pytest

from memoryhub.actions.stores import stores
from memoryhub.models import MemoryStore
from tests.support.fixtures import BY


@pytest.fixture
def other(db: None) -> MemoryStore:
    """A store in which none of the people has a role."""
    return stores.create_store(stores.StoreSettings(name="Salaries"), **BY)
