"""The agent whose sessions the tests look at."""

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, MemoryStore
from tests.support.fixtures import BY
from tests.web.history.versions import Caller


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def elsewhere(agent: Agent, caller: Caller) -> Caller:
    """The same agent in another store, in which Bob has no role."""
    other = stores.create_store(stores.StoreSettings(name="Elsewhere"), **BY)
    secret = keys_and_roles.issue_key(agent, stores=[other], access=keys_and_roles.Access.WRITE, **BY)[1]
    return Caller(other, secret, at=caller.at, session="run-1")
