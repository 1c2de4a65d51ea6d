"""Keys: issuing one, which is shown once; revoking one; and the list of all keys of the hub."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import calls
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, AuditEntry, Key, MemoryStore, Role, User
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.web.agents.pages import call, issue, newest, secret_in, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


@pytest.mark.both_databases
def test_administrators_of_the_hub_see_all_keys(store: MemoryStore, agent: Agent, superuser: User, alice: User) -> None:
    other = stores.create_store(stores.StoreSettings(name="Salaries"), **BY)
    second = keys_and_roles.create_agent(name="importer", description="", **BY)
    first, key = issue(agent, store), issue(second, other, at=BY["at"] + timedelta(seconds=1))
    keys_and_roles.revoke_key(first, **BY)
    html = text(signed_in(superuser).get("/keys"))
    assert f"mh_…{first.hint}" in html and f"mh_…{key.hint}" in html and "revoked" in html and "Salaries" in html
    assert html.index(key.hint) < html.index(first.hint)
    for query in ("IMPORTER", f"mh_…{key.hint}"):
        html = text(signed_in(superuser).get("/keys", {"q": query}))
        assert f"mh_…{key.hint}" in html and f"mh_…{first.hint}" not in html
    html = text(signed_in(superuser).get("/keys", {"q": "salar"}))
    assert f"mh_…{key.hint}" in html and f"mh_…{first.hint}" not in html
    everywhere, _ = keys_and_roles.issue_key(agent, all_stores=True, **BY)
    html = text(signed_in(superuser).get("/keys", {"q": "All memory stores"}))
    assert f"mh_…{everywhere.hint}" in html and f"mh_…{key.hint}" not in html
    of_alice = issue(agent, store, created_by=alice)
    for query in (alice.name.upper(), alice.email):
        html = text(signed_in(superuser).get("/keys", {"q": query}))
        assert f"mh_…{of_alice.hint}" in html and f"mh_…{first.hint}" not in html
    assert f'<a href="{reverse("store", args=[other.pk])}">Salaries</a>' in text(signed_in(superuser).get("/keys"))
    assert "No key matches" in text(signed_in(superuser).get("/keys", {"q": "nobody"}))
    assert 'href="/keys"' in text(signed_in(superuser).get("/agents"))
    assert 'href="/keys"' not in text(signed_in(alice).get("/agents"))
    assert signed_in(alice).get("/keys").status_code == 403


def test_a_revocation_leads_to_what_was_done_with_the_key(store: MemoryStore, agent: Agent, superuser: User) -> None:
    key = issue(agent, store)
    html = text(signed_in(superuser).post(f"/keys/{key.pk}/revoke", {"name": agent.name}, follow=True))
    assert f'href="/audit?key={key.pk}"' in html and "See what was done with the key" in html


@pytest.mark.both_databases
def test_beside_a_key_that_ended_is_when_it_was_tried_last(
    store: MemoryStore, agent: Agent, superuser: User, alice: User
) -> None:
    key, secret = keys_and_roles.issue_key(agent, stores=[store], **BY)
    issue(agent, store)
    page, tried = reverse("agent", args=[agent.pk]), f"/audit?key={key.pk}&command=refused"
    keys_and_roles.revoke_key(key, **BY)
    assert tried not in text(signed_in(superuser).get(page))
    assert call(store, secret) == 401
    html = text(signed_in(superuser).get(page))
    refused = "requests with this key were refused after the key was revoked or expired"
    assert html.count(f"{refused}, most recently") == html.count(tried) == 1
    assert "The key was revoked on" in text(signed_in(superuser).get(tried))
    assert refused not in text(signed_in(alice).get(page))


def test_who_revokes_a_key_gets_to_what_the_agent_did(agent: Agent, store: MemoryStore, superuser: User) -> None:
    key, _ = keys_and_roles.issue_key(agent, stores=[store], **BY)
    assert f'href="/audit?key={key.id}"' in text(signed_in(superuser).get(f"/keys/{key.id}/revoke"))


def test_a_key_is_shown_once_and_works(agent: Agent, store: MemoryStore, superuser: User) -> None:
    client, address = signed_in(superuser), f"/agents/{agent.id}/keys/new"
    given = {"name": "prod", "access": "write", "scope": "some", "stores": [store.id], "expires_in": "30", "form": "f"}
    response = client.post(address, given)
    secret, key = secret_in(response), Key.objects.get()
    assert "no-store" in response.headers["Cache-Control"]
    assert call(store, secret) == 200
    assert (key.access, key.created_by, key.name) == (Access.WRITE, superuser, "prod")
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
    told = newest("issue_key")
    assert told.actor_id == superuser.id and secret not in str(told.input)
    assert secret not in text(client.get(f"/agents/{agent.id}"))
    assert calls.digest_of_key(secret) == key.digest


def test_sending_the_form_again_issues_no_other_key(agent: Agent, store: MemoryStore, superuser: User) -> None:
    client, address = signed_in(superuser), f"/agents/{agent.id}/keys/new"
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7", "form": "f"}
    assert client.post(address, given).status_code == 200
    assert client.post(address, given).status_code == 303
    assert Key.objects.count() == 1
    assert "cannot be shown again" in text(client.get(f"/agents/{agent.id}"))


def test_a_key_may_reach_all_stores(agent: Agent, store: MemoryStore, other: MemoryStore, superuser: User) -> None:
    given = {"access": "read", "scope": "all", "stores": [store.id], "expires_in": "never"}
    secret = secret_in(signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given))
    key = Key.objects.get()
    assert key.all_stores and not key.stores.exists() and key.expires_at is None
    assert call(other, secret) == 200


def test_a_key_ends_after_a_day_of_the_persons_own(agent: Agent, store: MemoryStore, superuser: User) -> None:
    day = (timezone.now() + timedelta(days=3)).date()
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7", "expires_on": day.isoformat()}
    signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given)
    end = Key.objects.get().expires_at
    assert end is not None and end.isoformat() == f"{day + timedelta(days=1)}T00:00:00+00:00"


@in_turn(
    ("field", "value"),
    [
        ("access", "root"), ("access", ""), ("scope", ""), ("scope", "every"), ("stores", []),
        ("stores", ["memstore_x"]), ("stores", ["\x00"]), ("expires_in", "13"), ("expires_in", "-1"),
        ("expires_on", "2001-01-01"), ("expires_on", "9999-12-31"), ("expires_on", "soon"),
        ("name", "x" * 101), ("name", "a\nb"), ("name", "\u202e"),
    ],
)  # fmt: skip
def test_a_malformed_key_is_none(agent: Agent, store: MemoryStore, superuser: User, field: str, value: Any) -> None:
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7"}
    response = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given | {field: value})
    assert response.status_code == 200 and "errorlist" in text(response)
    assert not Key.objects.exists()


def test_nobody_else_issues_keys_here(agent: Agent, store: MemoryStore, alice: User, bob: User) -> None:
    issue(agent, store)
    for user in (alice, bob):
        given = {"access": "read", "scope": "all"}
        assert signed_in(user).post(f"/agents/{agent.id}/keys/new", given).status_code == 403
    assert Key.objects.count() == 1


def test_a_key_is_revoked_when_the_agents_name_is_typed(agent: Agent, store: MemoryStore, alice: User) -> None:
    key, secret = keys_and_roles.issue_key(agent, stores=[store], **BY)
    client, address = signed_in(alice), f"/keys/{key.id}/revoke"
    assert "no name (a key of Support bot)" in text(client.get(address)) and "Made" in text(client.get(address))
    assert "not the agent's name" in text(client.post(address, {"name": "Sales bot"}))
    assert "errorlist" in text(client.post(address, {"name": ""}))
    assert call(store, secret) == 200
    assert client.post(address, {"name": "support BOT"}).status_code == 303
    assert call(store, secret) == 401
    assert newest("revoke_key").actor_id == alice.id
    assert "already revoked" in text(client.get(address))
    client.post(address, {"name": "Support bot"})
    assert AuditEntry.objects.filter(command="revoke_key").count() == 1
    assert "revoked" in text(client.get(f"/agents/{agent.id}"))


def test_an_admin_revokes_no_key_that_reaches_further(
    agent: Agent, store: MemoryStore, other: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    wide, every = issue(agent, store, other), issue(agent, all_stores=True)
    own = issue(agent, store)
    for user, key, code in [
        (alice, wide, 403), (alice, every, 403), (bob, own, 403), (charlie, own, 404), (charlie, every, 404),
    ]:  # fmt: skip
        assert signed_in(user).post(f"/keys/{key.id}/revoke", {"name": "Support bot"}).status_code == code
    assert not AuditEntry.objects.filter(command="revoke_key").exists()


def test_an_admin_of_all_its_stores_may_revoke_a_key(
    agent: Agent, store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    key = issue(agent, store, other)
    assert signed_in(alice).post(f"/keys/{key.id}/revoke", {"name": "Support bot"}).status_code == 303


def test_a_viewer_of_another_store_of_a_key_is_no_admin_of_it(
    agent: Agent, store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    keys_and_roles.set_role(other, alice, Role.CURATOR, **BY)
    key = issue(agent, store, other)
    assert signed_in(alice).post(f"/keys/{key.id}/revoke", {"name": "Support bot"}).status_code == 403


def test_the_usual_fields_come_first_and_the_others_behind_more_with_their_defaults(
    superuser: User, agent: Agent, store: MemoryStore
) -> None:
    client = signed_in(superuser)
    of_hub, of_store = reverse("issue_key", args=[agent.pk]), reverse("store_keys", args=[store.pk])
    for url, usual, further in (
        (of_hub, ["name", "access", "stores", "expires_in"], ["scope", "expires_on"]),
        (of_store, ["agent", "new_agent", "name", "access", "expires_in"], ["expires_on"]),
    ):
        html = client.get(url).content.decode()
        first, more = html.partition('<details class="form-advanced">')[::2]
        assert [n for n in usual if f'name="{n}"' in first] == usual and "Otherwise the key " in more
        inside = more.partition("</details>")[0]
        assert [n for n in further if f'name="{n}"' in inside] == further
        wrong = client.post(url, {"expires_on": "2001-01-01"}).content.decode()
        assert '<details class="form-advanced" open>' in wrong and "Choose today or a later day." in wrong


def test_all_keys_of_an_agent_are_revoked_at_once_which_stops_it(
    superuser: User, alice: User, agent: Agent, store: MemoryStore, key: str
) -> None:
    elsewhere = stores.create_store(stores.StoreSettings(name="Elsewhere"), **BY)
    first = Key.objects.get()
    second, _ = keys_and_roles.issue_key(agent, stores=[store], access=Access.READ, **BY)
    third, _ = keys_and_roles.issue_key(agent, stores=[elsewhere], access=Access.READ, **BY)
    url = reverse("revoke_key", args=[first.pk])
    own = signed_in(alice).get(url).content.decode()
    assert f"Revoke its other key …{second.hint}, too." in own and "This stops the agent" not in own
    whole = signed_in(superuser).get(url).content.decode()
    hints = ", ".join(f"…{one.hint}" for one in sorted([second, third], key=lambda one: one.pk))
    assert f"Revoke its other keys {hints}, too." in whole and "This stops the agent" in whole
    done = signed_in(superuser).post(url, {"name": agent.name, "others": "on"}, follow=True).content.decode()
    assert f"The keys …{first.hint}, {hints} are revoked." in done
    assert f"?agent={agent.pk}" in done
    assert not Key.objects.usable(timezone.now()).exists()
    assert AuditEntry.objects.of_chain("hub").of_command("revoke_key").count() == 3


def test_one_key_alone_is_revoked_unless_the_others_are_ticked(
    superuser: User, agent: Agent, store: MemoryStore, key: str
) -> None:
    first = Key.objects.get()
    second, _ = keys_and_roles.issue_key(agent, stores=[store], access=Access.READ, **BY)
    client, url = signed_in(superuser), reverse("revoke_key", args=[first.pk])
    assert f"The key …{first.hint} is revoked." in client.post(url, {"name": agent.name}, follow=True).content.decode()
    assert list(Key.objects.usable(timezone.now())) == [second]
    assert "other key" not in client.get(reverse("revoke_key", args=[second.pk])).content.decode()


def test_a_key_that_is_issued_after_the_revocation_takes_over_the_name_and_the_rights(
    superuser: User, agent: Agent, store: MemoryStore
) -> None:
    old, _ = keys_and_roles.issue_key(agent, name="Nightly", stores=[store], access=Access.READ, **BY)
    client, url = signed_in(superuser), reverse("revoke_key", args=[old.pk])
    link = f'href="{reverse("replace_key", args=[old.pk])}">Issue a new key with the same rights</a>'
    assert link in client.post(url, {"name": agent.name}, follow=True).content.decode()
    assert link in client.get(url).content.decode(), "also later"
    asked = client.get(reverse("replace_key", args=[old.pk]))
    assert "as the revoked key …" in asked.content.decode()
    client.post(reverse("replace_key", args=[old.pk]), asked.context["form"].initial)
    new = Key.objects.usable(timezone.now()).get()
    assert (new.name, new.access, list(MemoryStore.objects.filter(keys=new))) == ("Nightly", Access.READ, [store])
