"""Alice, an admin of a store, Bob, who may look, Charlie, who has no role; the store, and an agent with a key."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.core.audit import Actor, keys
from memoryhub.actions.core.hub import installation
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import Access, Agent, AuditChain, Door, MemoryStore, Role, User
from tests.api.server import Server, served
from tests.support.long import is_turn

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
BY: dict[str, Any] = {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": AT}
PASSWORD = "correct horse battery staple"


def new_person(name: str, **options: Any) -> User:
    """A person whose address is the name at example.com."""
    return people.create_user(f"{name.lower()}@example.com", name=name, password=PASSWORD, **(BY | options))


def signed_in(user: User) -> Client:
    """A browser without a screen in which this person has signed in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def store(db: None) -> MemoryStore:
    """An empty memory store."""
    return stores.create_store(stores.StoreSettings(name="Support"), **BY)


@pytest.fixture
def alice(store: MemoryStore) -> User:
    """An admin of the store."""
    user = new_person("Alice")
    keys_and_roles.set_role(store, user, Role.ADMIN, **BY)
    return user


@pytest.fixture
def bob(store: MemoryStore) -> User:
    """A viewer of the store."""
    user = new_person("Bob")
    keys_and_roles.set_role(store, user, Role.VIEWER, **BY)
    return user


@pytest.fixture
def charlie(db: None) -> User:
    """Somebody without any role."""
    return new_person("Charlie")


@pytest.fixture
def superuser(db: None) -> User:
    """The administrator of the hub."""
    return new_person("Root", is_superuser=True)


@pytest.fixture
def agent(db: None) -> Agent:
    """A named program; `key` is its own."""
    return keys_and_roles.create_agent("Support bot", **BY)


@pytest.fixture
def key(agent: Agent, store: MemoryStore) -> str:
    """The secret of a key with which the agent may write to the store."""
    return keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1]


def _kept_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What fixtures of a class or module write after this one is there for each of its tests, and gone after the last.
    A test's own changes are undone as ever. Not for classes and modules with tests whose transactions end."""
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]
    with django_db_blocker.unblock():
        around.__enter__()
    yield
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


rows_of_class = pytest.fixture(scope="class")(_kept_rows)
rows_of_module = pytest.fixture(scope="module")(_kept_rows)


@pytest.fixture
def audit_stays_whole(db: None) -> Iterator[None]:
    """Every chain is right after the test, in the short form after each twelfth one."""
    yield
    if is_turn(12):
        for chain in AuditChain.objects.all():
            assert verify.verify(chain.id)[1] is None


@pytest.fixture
def own_key(db: None) -> Iterator[None]:
    """The audit key of the tests is the current one again when a test that replaces it ends."""
    key = keys.current()
    installation.keep_marks()
    yield
    keys.use(key)


@pytest.fixture
def own_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint file that no other test sees: what one test checkpoints, another one's database does not have."""
    monkeypatch.setattr(settings, "MEMORYHUB_CHECKPOINT_FILE", tmp_path / "checkpoints.jsonl")
    return tmp_path / "checkpoints.jsonl"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hub in processes of its own, shared by the tests that need real connections. Its audit is verified once, after
    all of them."""
    with served(tmp_path_factory.mktemp("served")) as running:
        yield replace(running, stores=[])
        verified = running.run("verify_audit", check=False)
        assert verified.returncode == 0, verified.stdout + verified.stderr
