"""Deleting a memory store: gone at once, removed in pieces, its audit closed and right."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.findings import scans
from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.stores import delete as deleting
from memoryhub.actions.transfer import exporting
from memoryhub.actions.verification import verify
from memoryhub.background import tasks
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Door,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Role,
    User,
    Webhook,
    WebhookCursor,
)
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import Hub, new_hub
from tests.support.fixtures import signed_in
from tests.support.write_guard import arranging, tampering


def act() -> Act:
    return Act(Actor.system("test"), Door.COMMAND, timezone.now())


def removed(store_id: str) -> int:
    """Removes what is left of a deleted store; gives in how many pieces."""
    steps = 1
    while deleting.step(store_id):
        steps += 1
    return steps


def test_a_deleted_store_is_gone_at_once_for_keys_and_people(filled: Hub, alice: User) -> None:
    store = filled.store
    keys_and_roles.set_role(store, alice, Role.ADMIN, actor=Actor.system("test"), door=Door.COMMAND, at=timezone.now())
    deleting.delete_store(store.pk, act=act())
    assert not MemoryStore.objects.visible_to(alice).filter(pk=store.pk).exists()
    assert filled.send(filled.block(command="view", path="/memories")).status == 404
    with pytest.raises(NoSuchStore):
        deleting.delete_store(store.pk, act=act())


@pytest.mark.both_databases
def test_its_rows_go_in_pieces_and_its_entries_stay(filled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled.store.pk
    other = new_hub().store.pk
    monkeypatch.setattr(deleting, "PIECE", 2)
    entries = AuditEntry.objects.filter(chain=store).count()
    seq = deleting.delete_store(store, act=act())
    assert deleting.deleted_stores() == [store]
    assert removed(store) > 10
    assert deleting.deleted_stores() == []
    for table in (Memory, MemoryVersion, MemoryText):
        assert not table._default_manager.filter(store_id=store).exists()
    assert list(MemoryStore.every.values_list("pk", flat=True)) == [other]
    assert AuditEntry.objects.filter(chain=store).count() == entries + 1 == seq


def test_the_audit_of_a_deleted_store_is_right_before_while_and_after_its_rows_go(filled: Hub) -> None:
    store = filled.store.pk
    filled.call(command="view", path="/memories/x")
    seq = deleting.delete_store(store, act=act())
    assert verify.verify(store) == (seq, None)
    deleting.step(store)
    assert verify.verify(store) == (seq, None)
    removed(store)
    assert verify.verify(store) == (seq, None)


def close(store_id: str, at: datetime | None) -> None:
    with tampering():
        AuditChain.objects.filter(pk=store_id).update(closed_at=at)


def test_a_store_that_was_deleted_while_the_clock_was_ahead_goes_once_it_is_right(filled: Hub) -> None:
    deleting.delete_store(filled.store.pk, act=act()._replace(at=timezone.now() + timedelta(days=400)))
    removed(filled.store.pk)
    assert not MemoryStore.every.filter(pk=filled.store.pk).exists()


@pytest.mark.both_databases
def test_the_audit_notices_a_closed_chain_that_no_deletion_closed_and_the_other_way_round(filled: Hub) -> None:
    store = filled.store.pk
    close(store, timezone.now())
    problem = verify.verify(store)[1]
    assert problem is not None
    assert "is closed" in problem.what
    close(store, None)
    deleting.delete_store(store, act=act())
    close(store, None)
    assert verify.verify(store)[1] is not None


def test_a_legal_hold_on_anything_in_a_store_keeps_it(filled: Hub, alice: User) -> None:
    store = filled.store.pk
    by_alice = Act(Actor.person(alice), Door.WEB, timezone.now())
    holds.place(store, by_alice, kind=HoldKind.HOLD, reason="The court asks for it", path="/a")
    with pytest.raises(ToolError, match="legal hold"):
        deleting.delete_store(store, act=act())
    assert MemoryStore.objects.filter(pk=store).exists()


def test_the_store_itself_waits_until_its_webhooks_have_been_told(filled: Hub) -> None:
    store, now = filled.store.pk, timezone.now()
    with arranging():
        Webhook.objects.create(id="webhook_1", store_id=store, name="CI", url="https://example.com", created_at=now)
    seq = deleting.delete_store(store, act=act())
    removed(store)
    assert deleting.deleted_stores() == [store]
    with writing():
        WebhookCursor.objects.update_or_create(chain=store, defaults={"seq": seq})
    removed(store)
    assert deleting.deleted_stores() == []


def test_the_background_goes_on_where_a_store_is_deleted_in_the_middle_of_a_scan(filled: Hub) -> None:
    scan = scans.start(filled.store.pk, ["email"], act())
    deleting.delete_store(filled.store.pk, act=act())
    assert not scans.step(scan.pk, timezone.now())
    tasks.deletions(5).go_on(timezone.now())
    assert deleting.deleted_stores() == []


def test_nobody_has_a_role_in_a_deleted_store_and_its_policies_and_runs_are_not_found(
    filled: Hub, superuser: User
) -> None:
    settings = PolicySettings("Old", pattern="/a/**", expire_older_days=3)
    policy = policies.save_policy(filled.store.pk, settings, act())
    browser = signed_in(superuser)
    addresses = [reverse(name, args=[policy.pk]) for name in ("policy", "delete_policy")]
    assert [browser.get(address).status_code for address in addresses] == [200, 200]
    deleting.delete_store(filled.store.pk, act=act())
    assert superuser.role_in(MemoryStore.every.get(pk=filled.store.pk)) is None
    assert [browser.get(address).status_code for address in addresses] == [404, 404]
    assert browser.post(addresses[1]).status_code == 404


def test_a_page_whose_store_is_deleted_while_it_works_is_not_found(
    filled: Hub, superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, address = signed_in(superuser), reverse("export_store", args=[filled.store.pk])
    begin = exporting.begin

    def too_late(*args: Any) -> Any:
        deleting.delete_store(filled.store.pk, act=act())
        return begin(*args)

    monkeypatch.setattr(exporting, "begin", too_late)
    assert browser.post(address, {"format": "zip"}).status_code == 404
