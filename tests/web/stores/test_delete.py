"""A superuser deletes a memory store: the page says what goes, holds forbid it, and the audit stays."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditChain, AuditEntry, Door, HoldKind, Memory, MemoryStore, User
from tests.support.fixtures import AT, BY, signed_in
from tests.web.browser_forms import form_with

HOSTILE = "<script>alert(1)</script> {{ 7|add:7 }} \u202e"


@pytest.fixture
def url(store: MemoryStore, superuser: User) -> str:
    """The page of a store with two memories, one of them in the trash."""
    by = Act(Actor.person(superuser), Door.WEB, AT)
    curation.create(store.id, "/a.md", "four", by)
    gone = curation.create(store.id, "/b.md", "text", by)
    curation.delete(store.id, "/b.md", by)
    assert gone.seq
    return f"/stores/{store.id}/delete"


def hold(store: MemoryStore, person: User, **options: object) -> None:
    act = Act(Actor.person(person), Door.WEB, timezone.now())
    holds.place(store.id, act, kind=HoldKind.HOLD, reason=HOSTILE, **{"path": "", **options})  # type: ignore[arg-type]


def test_the_page_says_what_goes_and_what_stays(superuser: User, store: MemoryStore, url: str, key: str) -> None:
    answer = signed_in(superuser).get(url)
    html = answer.content.decode()
    assert (answer.context["versions"].number, answer.context["trashed"].number) == (3, 1)
    assert "1 (4 B)" in html
    assert "1 key no longer reaches it" in html
    assert "The last entry says who deleted the memory store" in html
    assert "This cannot be undone" in html
    assert Memory.objects.filter(store=store).count() == 2


def test_with_its_name_typed_the_store_is_gone_and_its_audit_closed(
    superuser: User, alice: User, store: MemoryStore, url: str, key: str
) -> None:
    client = signed_in(superuser)
    fields = form_with(client.get(url).content.decode(), "note")
    answer = client.post(url, {**fields, "name": "Support", "note": "The project is over."}, follow=True)
    assert answer.redirect_chain == [("/stores", 303)]
    chain = AuditChain.objects.get(pk=store.id)
    assert chain.closed_at is not None
    last = AuditEntry.objects.get(chain=store.id, seq=chain.last_seq)
    told = json.loads(last.input or "")
    assert (last.command, last.actor_id, last.note) == ("delete_store", superuser.id, "The project is over.")
    assert (told["name"], told["memories"], told["bytes"]) == ("Support", 1, 4)
    html = answer.content.decode()
    assert f'href="/audit/{store.id}/{last.seq}"' in html
    assert f"/stores/{store.id}/" not in html
    entry = client.get(f"/audit/{store.id}/{last.seq}")
    assert (entry.status_code, "The project is over." in entry.content.decode()) == (200, True)
    for person in (superuser, alice):
        assert signed_in(person).get(f"/stores/{store.id}/").status_code == 404
        assert signed_in(person).post(url, {"name": "Support"}).status_code == 404
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
    called = Client().post(
        f"/v1/memory_stores/{store.id}/tool_calls", block, "application/json", headers={"x-api-key": key}
    )
    assert called.status_code == 404


@pytest.mark.parametrize("typed", ["", "support", "Support!", HOSTILE, "a\0b", None])
def test_another_name_deletes_nothing(superuser: User, store: MemoryStore, url: str, typed: str | None) -> None:
    answer = signed_in(superuser).post(url, {} if typed is None else {"name": typed})
    assert answer.status_code == 200
    assert answer.context["form"].errors["name"]
    assert "<script>alert" not in answer.content.decode()
    assert MemoryStore.objects.filter(pk=store.pk).exists()


def test_a_legal_hold_forbids_it_on_the_page_and_at_once(superuser: User, store: MemoryStore, url: str) -> None:
    client = signed_in(superuser)
    hold(store, superuser, path=None, memory=Memory.objects.get(store=store, path="/a.md").id)
    html = client.get(url).content.decode()
    assert "A legal hold prevents the deletion." in html
    assert 'name="name"' not in html
    assert "<script>alert" not in html
    before = AuditChain.objects.get(pk=store.id).last_seq
    refused = client.post(url, {"name": "Support"})
    assert refused.status_code == 200
    assert "/a.md" in str(refused.context["form"].non_field_errors()), refused.context["form"].errors
    assert MemoryStore.objects.filter(pk=store.pk).exists()
    assert AuditChain.objects.get(pk=store.id).last_seq == before


def test_a_hold_that_has_ended_forbids_nothing(superuser: User, store: MemoryStore, url: str) -> None:
    act = Act(Actor.person(superuser), Door.WEB, timezone.now() - timedelta(days=2))
    ends = timezone.now() - timedelta(days=1)
    holds.place(store.id, act, kind=HoldKind.HOLD, reason="over", path="", ends_at=ends)
    client = signed_in(superuser)
    assert "A legal hold prevents the deletion." not in client.get(url).content.decode()
    assert client.post(url, {"name": "Support"}).status_code == 303


def test_an_archived_store_with_a_hostile_name_is_deleted_too(superuser: User, db: None) -> None:
    store = stores.create_store(stores.StoreSettings(name=HOSTILE), **BY)
    stores.set_archived(store, True, **BY)
    client, url = signed_in(superuser), f"/stores/{store.id}/delete"
    assert "<script>alert" not in client.get(url).content.decode()
    answer = client.post(url, {"name": HOSTILE}, follow=True)
    assert "<script>alert" not in answer.content.decode()
    assert not MemoryStore.objects.filter(pk=store.pk).exists()


def test_only_superusers_delete_stores(alice: User, bob: User, charlie: User, store: MemoryStore, url: str) -> None:
    for person, status in ((alice, 403), (bob, 403), (charlie, 404)):
        client = signed_in(person)
        assert (client.get(url).status_code, client.post(url, {"name": "Support"}).status_code) == (status, status)
    assert Client().post(url, {"name": "Support"}).status_code == 302
    assert MemoryStore.objects.filter(pk=store.pk).exists()


def test_the_settings_lead_there_for_superusers(superuser: User, alice: User, store: MemoryStore, url: str) -> None:
    settings = f"/stores/{store.id}/settings"
    assert url in signed_in(superuser).get(settings).content.decode()
    assert url not in signed_in(alice).get(settings).content.decode()


def test_other_methods_are_refused(superuser: User, url: str) -> None:
    assert signed_in(superuser).put(url).status_code == 405
    assert signed_in(superuser).get("/stores/memstore_x/delete").status_code == 404
