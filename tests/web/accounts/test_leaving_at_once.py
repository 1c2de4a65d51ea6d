"""Somebody loses a right while a request of theirs is under way: what it would make lasts no longer than the right."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.accounts.administrators import set_administrator
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules.roles import RightLost
from memoryhub.actions.webhooks import manage
from memoryhub.models import Access, Agent, Key, MemoryStore, Role, User, Webhook
from memoryhub.web.accounts import administrators, people as people_pages
from memoryhub.web.agents import keys as agent_keys, replacing
from memoryhub.web.stores import members
from memoryhub.web.stores.members import keys as store_keys
from memoryhub.web.webhooks import manage as webhook_pages
from tests.api.harness import new_store
from tests.api.test_concurrency import together
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.accounts.test_leaving import by, issued_by, works
from tests.web.accounts.test_leaving_webhooks import made_by

pytestmark = pytest.mark.django_db

KEY = {"agent": "new", "new_agent": "Late", "access": "write", "expires_in": "90"}
HOOK = {"name": "Late", "url": "https://example.com/late", "events": "memory.created"}


def lost_before(module: Any, lose: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a view lose the right of its person after it has checked it, just before its act."""
    spend = module.spend_form
    monkeypatch.setattr(module, "spend_form", lambda request: (lose(), spend(request))[1])


@pytest.mark.both_databases
@pytest.mark.parametrize("loss", ["role", "account"])
def test_an_admin_of_a_store_who_leaves_at_this_moment_makes_no_key_and_no_webhook(
    store: MemoryStore, alice: User, superuser: User, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = issued_by(alice, store)

    def lose() -> None:
        if loss == "role":
            keys_and_roles.set_role(store, alice, None, **BY)
        else:
            people.set_active(alice, False, **BY)

    def again() -> None:
        people.set_active(alice, True, **BY)
        keys_and_roles.set_role(store, alice, Role.ADMIN, **BY)

    address = f"/stores/{store.id}/keys", f"/keys/{first.id}/replace", f"/stores/{store.id}/webhooks/new"
    for where, fields, module in zip(address, (KEY, KEY, HOOK), (store_keys, replacing, webhook_pages), strict=True):
        again()
        client = signed_in(alice)
        with monkeypatch.context() as patched:
            lost_before(module, lose, patched)
            assert client.post(where, fields).status_code == 403, where
    assert [*Key.objects.all()] == [first] and not Webhook.objects.exists()


@pytest.mark.both_databases
def test_an_administrator_who_is_one_no_more_makes_no_key(
    store: MemoryStore, superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_person("Other", is_superuser=True)
    agent = keys_and_roles.create_agent("Late", **BY)
    fields = {"scope": "some", "stores": store.id, "access": "write", "expires_in": "90"}
    client = signed_in(other)
    lost_before(agent_keys, lambda: people.set_active(other, False, **BY), monkeypatch)
    assert client.post(f"/agents/{agent.id}/keys/new", fields).status_code == 403
    assert not Key.objects.exists()


def test_an_admin_issues_keys_only_to_their_own_stores_and_to_agents_without_a_key_to_all(
    store: MemoryStore, alice: User
) -> None:
    agent = keys_and_roles.create_agent("Scout", **BY)
    refused: tuple[dict[str, Any], ...] = ({}, {"all_stores": True}, {"stores": [store, new_store()]})
    for reach in refused:
        with pytest.raises(keys_and_roles.MayNotIssue):
            keys_and_roles.issue_key_by(alice, agent, **reach, **BY)
    keys_and_roles.issue_key_by(alice, agent, stores=[store], **BY)
    keys_and_roles.issue_key(agent, all_stores=True, access=Access.READ, **BY)
    with pytest.raises(keys_and_roles.MayNotIssue):
        keys_and_roles.issue_key_by(alice, agent, stores=[store], **BY)
    assert Agent.objects.get().keys.count() == 2


def lost_after(module: Any, name: str, lose: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a view lose the right of its person after one of its steps."""
    step = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **named: (step(*args, **named), lose())[0])


@pytest.mark.both_databases
def test_an_admin_of_a_store_who_is_removed_at_this_moment_gives_nobody_a_role(
    store: MemoryStore, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(alice)
    lost_after(members, "_member", lambda: keys_and_roles.set_role(store, alice, None, **BY), monkeypatch)
    own = f"/stores/{store.id}/members/{alice.id}/role"
    assert client.post(own, {"role": "admin"}).status_code == 403
    assert alice.role_in(store) is None, "not an admin again by the wish to stay one"
    for other in (alice, bob):
        with pytest.raises(RightLost):
            keys_and_roles.set_role(store, other, Role.CURATOR, **by(alice))
    assert bob.role_in(store) is Role.VIEWER, "as before"


@pytest.mark.both_databases
@pytest.mark.parametrize("way", ["administrator", "active"])
def test_an_administrator_who_is_removed_at_this_moment_does_not_undo_it(
    superuser: User, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_person("Other", is_superuser=True)
    client = signed_in(other)

    def lose() -> None:
        people.set_active(other, False, **BY)
        set_administrator(other, False, **BY)

    lost_after(administrators if way == "administrator" else people_pages, "get_object_or_404", lose, monkeypatch)
    answer = client.post(f"/people/{other.id}/{way}", {"is_one": "1", "active": "1"})
    assert answer.status_code in (303, 403)
    for again in (set_administrator, people.set_active):
        with pytest.raises(RightLost):
            again(other, True, **by(other))
    other.refresh_from_db()
    assert not other.is_active and not other.is_superuser


@pytest.mark.both_databases
@pytest.mark.parametrize("act", ["edit", "resume"])
def test_a_webhook_is_not_changed_by_who_has_lost_the_right(store: MemoryStore, alice: User, act: str) -> None:
    hook, by_alice = made_by(alice, store, "hook"), Act(**by(alice))
    manage.pause(hook.pk, by_alice)
    keys_and_roles.set_role(store, alice, None, **BY)
    wanted = manage.WebhookSettings("hook", "https://late.example.com/", ("memory.created",))
    with pytest.raises(RightLost):
        manage.edit_webhook(hook.pk, wanted, by_alice) if act == "edit" else manage.resume(hook.pk, by_alice)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_keys_issued_at_the_moment_in_which_a_role_ends_are_revoked_or_refused(superuser: User) -> None:
    store, alice = new_store(), new_person("Alice")
    agent = keys_and_roles.create_agent("Scout", **BY)
    admin, address = signed_in(superuser), f"/stores/{store.id}/members/{alice.id}/leaving"
    for _ in range(4):
        keys_and_roles.set_role(store, alice, Role.ADMIN, **BY)
        secrets, go = [], threading.Event()

        def work(who: int, go: threading.Event = go, secrets: list[str] = secrets) -> int:
            try:
                if who == 0:
                    go.wait(30)
                    return admin.post(address, {}).status_code
                for _ in range(5):
                    secrets.append(keys_and_roles.issue_key_by(alice, agent, stores=[store], **BY)[1])
                    go.set()
            except keys_and_roles.MayNotIssue:
                return 403
            finally:
                go.set()
                connection.close()
            return 200

        assert together(work, clients=4)[0] == 303, "removed, however many keys are issued meanwhile"
        assert alice.role_in(store) is None
        assert secrets and not any(works(secret, store) for secret in secrets)
