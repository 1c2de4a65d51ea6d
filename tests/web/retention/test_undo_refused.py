"""The undo of a run that a limit or a rule for sensitive text refuses in part says why, before or afterwards."""

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.findings import rules
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import MemoryStore, User
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import act, page, write
from tests.web.retention.pages import policy, ran, some, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def undone(client: Client, run: str) -> str:
    return " ".join(client.post(url("undo_run", run), follow=True).content.decode().split())


@pytest.mark.both_databases
def test_a_limit_that_refuses_it_is_named(client: Client, store: MemoryStore) -> None:
    policy(store, "Unread", "/old/", expire_unread_days=90)
    some(store, 12, "/kept")
    some(store, 2)
    run = ran(store)
    stores.edit_store(
        MemoryStore.objects.get(pk=store.pk), StoreSettings(store.name, limits={"limit_memories": 13}), **BY
    )  # fmt: skip
    html = undone(client, run.pk)
    assert "1 memory is back. 1 stays in the trash: This memory store has 13 memories, which is its limit." in html
    assert "0 memories are back. 1 stays in the trash: This memory store has 13" in undone(client, run.pk)


def test_a_rule_for_sensitive_text_that_refuses_it_is_named_before(client: Client, store: MemoryStore) -> None:
    policy(store, "Unread", "/old/", expire_unread_days=90)
    some(store, 12, "/kept")
    some(store, 1)
    write(store, "/old/card.md", "4111 1111 1111 1111\n")
    run = ran(store)
    rules.save_rules(store.pk, {"card": "block"}, act()._replace(at=timezone.now()))
    html = " ".join(page(client, url("run", run.pk)).split())
    assert "Undo brings 1 back to its old path" in html
    assert "1 stays in the trash, because the rules for sensitive text do not allow it." in html
    assert "1 memory is back. 1 stays in the trash, because the rules for sensitive text" in undone(client, run.pk)
