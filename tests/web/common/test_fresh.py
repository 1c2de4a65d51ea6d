"""Acts that cannot be undone ask for the password again, and go on with everything that was typed."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import people, tries
from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.core.rules import holds
from memoryhub.models import (
    HUB,
    AuditEntry,
    BrowserSession,
    Hold,
    HoldKind,
    Invitation,
    Key,
    Member,
    Memory,
    MemoryStore,
    Role,
    User,
)
from tests.support.fixtures import BY, PASSWORD, signed_in
from tests.support.write_guard import arranging
from tests.web.erasure.erasing import WHERE, fields, find, write
from tests.web.memories.pages import act as an_act

pytestmark = pytest.mark.django_db


def stale(user: User) -> Client:
    """A browser whose person signed in an hour ago."""
    client = signed_in(user)
    with arranging():
        BrowserSession.objects.filter(user=user).update(confirmed_at=timezone.now() - timedelta(hours=1))
    return client


def asked(response: Any) -> dict[str, list[str]]:
    """What the page that asks for the password keeps of a form."""
    text = response.content.decode()
    assert response.status_code == 200 and "Is it you?" in text
    found: dict[str, list[str]] = {}
    text = text[text.index('<form class="form"') :].partition("</form>")[0]
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', text):
        if name not in ("csrfmiddlewaretoken", "came_from"):
            found.setdefault(html.unescape(name), []).append(html.unescape(value))
    return found


def newest() -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).newest()[0]


INVITES = {"email": "dora@example.com", "is_superuser": "on", "role": "viewer", "form": "f1"}


def test_an_administrator_is_made_after_the_password_and_the_form_is_not_lost(superuser: User) -> None:
    client = stale(superuser)
    kept = asked(client.post("/people/invite", INVITES))
    assert not Invitation.objects.exists() and kept == {name: [value] for name, value in INVITES.items()}
    again = asked(client.post("/people/invite", kept | {"proof": "wrong"}))
    assert again == kept and newest().command == "confirm" and not newest().ok
    done = client.post("/people/invite", kept | {"proof": PASSWORD})
    assert Invitation.objects.get().is_superuser and "/invitations/" in done.content.decode()
    assert [entry.command for entry in AuditEntry.objects.of_chain(HUB).newest()[:2]] == ["invite", "confirm"]
    client.post("/people/invite", INVITES | {"email": "eve@example.com", "form": "f2"})
    assert Invitation.objects.count() == 2, "the proof holds for some minutes"


def test_guesses_are_limited(superuser: User) -> None:
    client = stale(superuser)
    for _ in range(tries.ONE.free):
        assert client.post("/people/invite", INVITES | {"proof": "wrong"}).status_code == 200
    refused = client.post("/people/invite", INVITES | {"proof": PASSWORD})
    assert refused.status_code == 429 and not Invitation.objects.exists()


def test_what_can_be_undone_does_not_ask(superuser: User) -> None:
    stale(superuser).post("/people/invite", INVITES | {"is_superuser": ""})
    assert Invitation.objects.exists()


def test_a_proof_of_a_clock_that_was_ahead_is_not_fresh_until_then(superuser: User) -> None:
    client = stale(superuser)
    with arranging():
        BrowserSession.objects.filter(user=superuser).update(confirmed_at=timezone.now() + timedelta(hours=1))
    asked(client.post("/people/invite", INVITES))


def test_a_hub_may_ask_never(superuser: User, settings: Any) -> None:
    settings.MEMORYHUB_FRESH_MINUTES = None
    stale(superuser).post("/people/invite", INVITES)
    assert Invitation.objects.exists()


def _deletion(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"name": store.name, "note": "as <agreed>\nwith Dora"}
    return f"/stores/{store.id}/delete", form, lambda: not MemoryStore.objects.filter(deleted_at=None).exists()


def _release(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    hold = Hold.objects.get()
    return f"/stores/{store.id}/holds/{hold.pk}/release", {"note": "over"}, lambda: _released(hold)


def _released(hold: Hold) -> bool:
    hold.refresh_from_db()
    return hold.released_at is not None


def _key(_: MemoryStore, agent: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"name": "", "access": "read", "scope": "all", "expires_in": "30", "form": "f1"}
    return f"/agents/{agent.pk}/keys/new", form, Key.objects.filter(all_stores=True).exists


def _removal(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"id": write(store, "/secret.md", "text\n").pk, "name": "secret.md", "note": "request 8"}
    return f"/stores/{store.id}/remove", form, lambda: not Memory.objects.exists()


def _password_link(_: MemoryStore, __: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    me = User.objects.filter(is_superuser=True).earliest("pk")
    return f"/people/{me.pk}/password-link", {"form": "f1"}, Invitation.objects.filter(user=me).exists


def _key_that_redacts(store: MemoryStore, agent: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"agent": agent.pk, "name": "", "access": "manage", "expires_in": "30", "form": "f1"}
    return f"/stores/{store.pk}/keys", form, Key.objects.filter(access="manage").exists


def _key_that_redacts_in_some(store: MemoryStore, agent: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"name": "", "access": "manage", "scope": "some", "stores": store.pk, "expires_in": "30", "form": "f1"}
    return f"/agents/{agent.pk}/keys/new", form, Key.objects.filter(access="manage").exists


def _admin_by_link(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"email": "eve@example.com", "role": "admin", "form": "f1"}
    return f"/stores/{store.pk}/members", form, Invitation.objects.filter(role="admin").exists


def _admin_of_several(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    form = {"email": "eve@example.com", "stores": store.pk, "role": "admin", "form": "f1"}
    return "/people/invite", form, Invitation.objects.filter(role="admin").exists


def _raised(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    eve = people.create_user("eve@example.com", name="Eve", password=PASSWORD, **BY)
    set_role(store, eve, Role.VIEWER, **BY)
    address = reverse("set_role", args=[store.pk, eve.pk])
    return address, {"role": "admin"}, Member.objects.filter(user=eve, role="admin").exists


def _activated(store: MemoryStore, _: Any) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    eve = people.create_user("eve@example.com", name="Eve", password=PASSWORD, **BY)
    set_role(store, eve, Role.ADMIN, **BY)
    people.set_active(eve, False, **BY)
    return f"/people/{eve.pk}/active", {"active": "1"}, User.objects.filter(pk=eve.pk, is_active=True).exists


_DIRECT = [_deletion, _release, _key, _removal]
_BY_SOMEBODY_ELSE = [
    _password_link, _key_that_redacts, _key_that_redacts_in_some, _admin_by_link, _admin_of_several, _raised,
    _activated,
]  # fmt: skip


@pytest.mark.parametrize("act", _DIRECT + _BY_SOMEBODY_ELSE)
def test_each_of_these_asks_first(store: MemoryStore, agent: Any, superuser: User, act: Any) -> None:
    if act is _release:
        holds.place(store.pk, an_act(), kind=HoldKind.HOLD, reason="The court asks for it", path="/a")
    client = stale(superuser)
    address, form, is_done = act(store, agent)
    kept = asked(client.post(address, form))
    assert not is_done() and kept == {name: [value] for name, value in form.items()}
    client.post(address, kept | {"proof": PASSWORD})
    assert is_done()


def test_no_other_page_gives_the_role_admin(store: MemoryStore, superuser: User, bob: User) -> None:
    set_role(store, bob, Role.VIEWER, **BY)
    assert stale(superuser).post(f"/stores/{store.pk}/members/{bob.pk}/leaving?role=admin").status_code == 404
    assert bob.role_in(store) == Role.VIEWER


def test_an_erasure_goes_on_after_the_password(store: MemoryStore, alice: User) -> None:
    write(store, "/secret.md", "Quellenberg <b>& others\n")
    client = stale(alice)
    form = fields(find(client, "quellenberg"), "erase") | {"confirm": "quellenberg", "note": "request 8"}
    kept = asked(client.post(WHERE, form))
    assert Memory.objects.get().text.content.startswith("Quellenberg")
    done = client.post(WHERE, kept | {"proof": PASSWORD})
    assert "Erased from 1 memory store" in done.content.decode() and not client.session.get("proof")
