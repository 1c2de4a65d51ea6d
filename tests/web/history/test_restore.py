"""Restoring: an earlier version becomes the newest, as a new version."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.findings import rules
from memoryhub.actions.stores import stores
from memoryhub.models import HoldKind, Memory, MemoryStore, MemoryVersion, Role, User
from tests.support.fixtures import AT, BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def curator(bob: User, store: MemoryStore) -> Client:
    """Bob, who may also edit."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    return signed_in(bob)


@pytest.fixture
def memory(caller: Caller) -> Memory:
    """Two versions."""
    caller.create("/a.md", "one\n")
    caller.replace("/a.md", "one", "1")
    return Memory.objects.get(path="/a.md")


def first_of(memory: Memory) -> MemoryVersion:
    return MemoryVersion.objects.of_memory(memory).get(number=1)


def address(version: MemoryVersion) -> str:
    return reverse("restore_version", args=[version.store_id, version.pk])


def post(client: Client, version: MemoryVersion, memory: Memory, **given: str) -> Any:
    return client.post(address(version), {"head": memory.head_id, "note": "", **given})


def text(memory: Memory) -> str | None:
    memory.refresh_from_db()
    return Memory.objects.select_related("text").get(pk=memory.pk).text.content  # type: ignore[union-attr]


def test_the_page_shows_what_will_change_and_changes_nothing(memory: Memory, curator: Client, caller: Caller) -> None:
    before = caller.last.seq
    response = curator.get(address(first_of(memory)))
    diff = response.context["diff"]
    assert (diff.added, diff.removed) == (1, 1)
    assert "path" not in response.context["form"].fields
    assert caller.last.seq == before


def test_restoring_makes_a_new_version_and_leads_to_the_memory(memory: Memory, curator: Client, caller: Caller) -> None:
    response = post(curator, first_of(memory), memory, note="it was right before")
    assert response.status_code == 303
    assert response["Location"] == reverse("memory", args=[memory.store_id, memory.pk])
    assert text(memory) == "one\n"
    assert memory.version_count == 3
    entry = caller.last
    assert (entry.command, entry.note, entry.label) == ("restore", "it was right before", "Bob")
    assert json.loads(str(entry.input))["version"] == first_of(memory).pk
    banner = curator.get(response["Location"]).content.decode()
    assert "Restored the text of version 1." in banner
    assert reverse("entry", args=[memory.store_id, entry.seq]) in banner


def test_a_memory_that_was_renamed_stays_at_its_path(memory: Memory, curator: Client, caller: Caller) -> None:
    caller.edit("/a.md", new_path="/b.md")
    memory.refresh_from_db()
    address = reverse("restore_version", args=[memory.store_id, first_of(memory).pk])
    assert 'The memory stays at <span class="mono">/b.md</span>' in curator.get(address).content.decode()
    said = curator.post(address, {"head": memory.head_id, "note": ""}, follow=True).content.decode()
    assert "Restored the text of version 1. The memory stays at /b.md." in said


def test_a_deleted_memory_comes_back_to_its_place(memory: Memory, curator: Client, caller: Caller) -> None:
    caller.delete("/a.md")
    memory.refresh_from_db()
    page = curator.get(address(first_of(memory)))
    assert page.context["form"].initial["path"] == "/a.md"
    response = post(curator, first_of(memory), memory, path="/a.md")
    assert response.status_code == 303
    assert text(memory) == "one\n"
    assert memory.is_live


def test_a_deleted_memory_goes_elsewhere_where_its_place_is_taken(
    memory: Memory, curator: Client, caller: Caller
) -> None:
    caller.delete("/a.md")
    caller.create("/a.md", "another\n")
    memory.refresh_from_db()
    refused = post(curator, first_of(memory), memory, path="/a.md")
    assert refused.status_code == 200
    assert "already" in str(refused.context["form"].errors["path"])
    assert post(curator, first_of(memory), memory, path="/old/a.md").status_code == 303
    memory.refresh_from_db()
    assert (memory.path, memory.is_live) == ("/old/a.md", True)


@in_turn("path", ["", "/", "/../x", "/a/", "/a\u202eb", "/a.md/b", "/" + "x" * 2000, "/\0"])
def test_a_deleted_memory_goes_nowhere_that_is_no_path(
    path: str, memory: Memory, curator: Client, caller: Caller
) -> None:
    caller.delete("/a.md")
    caller.create("/a.md", "another\n")
    memory.refresh_from_db()
    before = caller.last.seq
    response = post(curator, first_of(memory), memory, path=path)
    assert response.status_code == 200
    assert "path" in response.context["form"].errors
    assert caller.last.seq == before


def test_who_was_faster_is_shown_first(memory: Memory, curator: Client, caller: Caller) -> None:
    seen = Memory.objects.get(pk=memory.pk)
    caller.replace("/a.md", "1", "one and a half")
    response = post(curator, first_of(memory), seen, note="my reason")
    assert response.status_code == 200
    assert "has changed since" in response.content.decode()
    assert "my reason" in response.content.decode()
    assert text(memory) == "one and a half\n"
    assert response.context["form"]["head"].value() == memory.head_id
    assert post(curator, first_of(memory), memory, note="my reason").status_code == 303
    assert text(memory) == "one\n"


def test_a_memory_that_was_deleted_meanwhile_asks_for_a_path(memory: Memory, curator: Client, caller: Caller) -> None:
    seen = Memory.objects.get(pk=memory.pk)
    caller.delete("/a.md")
    response = post(curator, first_of(memory), seen)
    assert response.status_code == 200
    assert "path" in response.context["form"].fields
    memory.refresh_from_db()
    assert not memory.is_live


def test_a_version_without_a_text_cannot_be_restored(memory: Memory, curator: Client, caller: Caller) -> None:
    caller.delete("/a.md")
    memory.refresh_from_db()
    redacted = first_of(memory)
    with tampering():
        MemoryVersion.objects.filter(pk=redacted.pk).update(text=None, redacted_at=AT)
    for version in (memory.head, redacted):
        assert "Nothing to restore" in curator.get(address(version)).content.decode()
        response = post(curator, version, memory, path="/b.md")
        assert response.status_code == 200
        assert not Memory.objects.at("/b.md").exists()


def test_the_text_that_is_there_already_makes_no_version(memory: Memory, curator: Client) -> None:
    assert "changes nothing" in curator.get(address(memory.head)).content.decode()
    assert post(curator, memory.head, memory).status_code == 303
    memory.refresh_from_db()
    assert memory.version_count == 2


def test_an_archived_store_refuses(memory: Memory, curator: Client, store: MemoryStore) -> None:
    stores.set_archived(store, True, **BY)
    response = post(curator, first_of(memory), memory)
    assert response.status_code == 200
    assert "archived" in str(response.context["form"].non_field_errors())
    assert text(memory) == "1\n"


def test_a_viewer_may_not_and_charlie_finds_nothing(memory: Memory, bob: User, charlie: User) -> None:
    for user, status in ((bob, 403), (charlie, 404)):
        client = signed_in(user)
        assert client.get(address(first_of(memory))).status_code == status
        assert post(client, first_of(memory), memory).status_code == status
    assert text(memory) == "1\n"


@pytest.mark.parametrize("given", [{}, {"head": ""}, {"head": "x" * 100}, {"note": "n" * 2000}])
def test_a_form_that_is_not_ours_restores_nothing(given: dict[str, str], memory: Memory, curator: Client) -> None:
    data = given if not given or "head" in given else {"head": memory.head_id, **given}
    response = curator.post(address(first_of(memory)), data)
    assert response.status_code == 200
    assert text(memory) == "1\n"


@pytest.mark.parametrize("is_live", [True, False])
def test_a_rule_for_sensitive_text_or_a_hold_that_would_refuse_it_is_named_before(
    caller: Caller, store: MemoryStore, curator: Client, is_live: bool
) -> None:
    caller.create("/card.md", "4111 1111 1111 1111\n")
    caller.replace("/card.md", "4111 1111 1111 1111", "gone")
    if not is_live:
        caller.delete("/card.md")
    memory = Memory.objects.get(store=store, path="/card.md")
    first, sentence = first_of(memory), "As it is now, this would be refused:"
    assert sentence not in curator.get(address(first)).content.decode()
    rules.save_rules(store.pk, {"card": "block"}, Act(**BY))
    why = "Line 1 of /card.md contains a payment card number, which this memory store does not keep."
    assert f"{sentence} {why}" in curator.get(address(first)).content.decode()
    refused = post(curator, first, memory, **({} if is_live else {"path": "/card.md"})).content.decode()
    assert why in refused and "save again" not in refused
    holds.place(store.pk, Act(**BY), kind=HoldKind.HOLD, path="/card.md", reason="lawsuit 7", freezes=True)
    page = curator.get(address(first)).content.decode()
    assert f"{sentence} /card.md is under a legal hold and cannot be changed" in page and "lawsuit 7" in page
