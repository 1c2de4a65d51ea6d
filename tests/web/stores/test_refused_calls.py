"""Calls that are refused because a key made too many leave a count on the pages, and cost no write of their own."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.memories import refused_calls
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, AuditEntry, Key, MemoryStore, RefusedCalls, User
from memoryhub.pure.limits import COLUMNS
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    """Other tests in this process may have left counts that no background work wrote."""
    refused_calls._counts.clear()
    yield
    refused_calls._counts.clear()


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    """A hub whose key may make two calls a minute."""
    limits = dict.fromkeys(COLUMNS) | {"limit_calls": 2}
    stores.edit_store(store, stores.StoreSettings(store.name, limits=limits), only=COLUMNS, **BY)
    return Hub(store, key)


def flood(hub: Hub, calls: int) -> None:
    for _ in range(2):
        assert hub.send(hub.block(command="view", path="/memories")).status == 200
    for _ in range(calls):
        assert hub.send(hub.block(command="view", path="/memories")).status == 429


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.mark.both_databases
def test_the_pages_say_how_many_calls_of_which_key_were_refused_and_when(
    hub: Hub, store: MemoryStore, agent: Agent, alice: User
) -> None:
    admin, limits = signed_in(alice), f"/stores/{store.id}/limits"
    assert "no key made more calls a minute" in page(admin, limits)
    flood(hub, 3)
    refused_calls.write()
    key = Key.objects.get()
    shown = page(admin, limits)
    assert f"{agent.name} · mh_…{key.hint}</a>" in shown and "no key made more" not in shown
    assert f"{agent.name} · mh_…{key.hint}</p>" in shown, "the busiest key"
    assert "3 calls over the limit were refused" in page(admin, f"/agents/{agent.id}")
    assert "3 calls over the limit were refused" in page(admin, f"/stores/{store.id}/keys")
    for address in ("/overview", f"/overview?agent={agent.id}", f"/stores/{store.id}/overview"):
        assert "Calls over the limit since yesterday" in page(admin, address), address
    assert "Calls over the limit" not in page(admin, "/overview?agent=agent_0123456789ABCDEFGHJKMNPQRS")


@pytest.mark.both_databases
def test_reads_of_the_api_count_and_so_does_each_call_of_a_message(hub: Hub, store: MemoryStore) -> None:
    flood(hub, 0)
    assert hub.send(b"", method="GET", url=f"/v1/memory_stores/{store.id}/memories").status == 429
    blocks = [hub.block(command="view", path="/memories") for _ in range(2)]
    assert hub.message(*blocks).status == 429
    refused_calls.write()
    assert RefusedCalls.objects.get(store=store).count == 3


def test_a_refused_call_writes_nothing_until_the_background_work_does(
    hub: Hub, store: MemoryStore, django_assert_num_queries: Any
) -> None:
    flood(hub, 20)
    assert not RefusedCalls.objects.filter(store=store).exists()
    assert AuditEntry.objects.filter(chain=store.id, command="view").count() == 2
    refused_calls.write()
    flood_again = hub.send(hub.block(command="view", path="/memories"))
    assert flood_again.status == 429
    refused_calls.write()
    assert [row.count for row in RefusedCalls.objects.filter(store=store)] == [21]
    with django_assert_num_queries(0):
        refused_calls.write()


def test_rows_are_kept_for_a_month_and_those_of_a_deleted_store_are_not_written(store: MemoryStore, key: str) -> None:
    id, now = Key.objects.get().pk, timezone.now()
    for days in (40, 20, 0):
        refused_calls.note(store.id, id, 1, now - timedelta(days=days))
        refused_calls.note("memstore_gone", id, 1, now - timedelta(days=days))
        refused_calls.write()
    assert RefusedCalls.objects.filter(store=store).count() == 2
    assert not RefusedCalls.objects.filter(store="memstore_gone").exists()


def test_counts_that_cannot_be_written_are_written_later(
    store: MemoryStore, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_calls.note(store.id, Key.objects.get().pk, 2, timezone.now())

    def full(*_: Any) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(refused_calls, "_write", full)
        with pytest.raises(OSError, match="no space"):
            refused_calls.write()
    refused_calls.write()
    assert RefusedCalls.objects.get(store=store).count == 2


def test_a_stranger_sees_no_count(hub: Hub, store: MemoryStore, charlie: User) -> None:
    flood(hub, 1)
    refused_calls.write()
    client = signed_in(charlie)
    assert client.get(f"/stores/{store.id}/limits").status_code == 404
    assert "over the limit" not in page(client, "/overview")
