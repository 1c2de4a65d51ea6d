"""What the tests of erasures share."""

import pytest

from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.stores.stores import StoreSettings, create_store
from memoryhub.models import MemoryStore, Role, User
from tests.api.harness import BY
from tests.web.erasure.erasing import write


@pytest.fixture
def other(store: MemoryStore, alice: User) -> MemoryStore:
    """A second store that Alice administers, with one spelling, and a third one of which she is no admin."""
    other, foreign = (create_store(StoreSettings(name=name), **BY) for name in ("Sales", "Foreign"))
    for one, role in ((other, Role.ADMIN), (foreign, Role.CURATOR)):
        set_role(one, alice, role, **BY)
    write(store, "/visit.md", "Quellenberg came\nQUELLENBERG paid\n")
    write(store, "/typo.md", "Quellenburg wrote\n")
    write(other, "/deal.md", "a deal with Quellenberg\n")
    write(foreign, "/secret.md", "Quellenberg\n")
    return other
