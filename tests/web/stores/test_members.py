"""The members and the keys of one memory store, which its admins look after."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.stores import stores
from memoryhub.models import Agent, AuditEntry, Invitation, Key, MemoryStore, Role, User
from memoryhub.web.common import responses
from memoryhub.web.stores.urls import urlpatterns
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.in_turn import in_turn

HOSTILE = "<script>alert(1)</script>"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


@pytest.fixture
def other(db: None) -> MemoryStore:
    """A store in which none of the people has a role."""
    return stores.create_store(stores.StoreSettings(name="Salaries"), **BY)


def text(response: Any) -> str:
    return unescape(str(response.content.decode()))


def at(store: MemoryStore, rest: str = "members") -> str:
    return f"/stores/{store.id}/{rest}"


def last(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.id).newest()[0]


def invited(store: MemoryStore) -> Invitation:
    return people.invite(email="x@example.com", store=store, **(BY | {"at": timezone.now()}))[0]


def addresses(store: MemoryStore, user: User, invitation: Invitation) -> list[str]:
    return [
        at(store), at(store, "keys"), at(store, f"members/{user.id}/role"),
        at(store, f"invitations/{invitation.id}/withdraw"), at(store, f"members/{user.id}/leaving"),
    ]  # fmt: skip


def test_every_address_of_a_store_is_in_these_tests(store: MemoryStore, bob: User) -> None:
    mine = [one for one in urlpatterns if re.search("/(members|keys|invitations)", str(one.pattern))]
    assert len(mine) == len(addresses(store, bob, invited(store)))


def test_members_and_keys_are_for_admins_of_this_store(
    store: MemoryStore, other: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    keys_and_roles.set_role(other, charlie, Role.ADMIN, **BY)
    invitation = invited(store)
    before = AuditEntry.objects.count()
    for address in addresses(store, bob, invitation):
        for method in ("get", "post"):
            assert getattr(signed_in(charlie), method)(address, {"role": "admin"}).status_code == 404
            assert getattr(signed_in(bob), method)(address, {"role": "admin"}).status_code == 403
            assert getattr(Client(), method)(address).status_code == 302
        assert signed_in(charlie).get(address.replace(store.id, "memstore_none")).status_code == 404
    assert AuditEntry.objects.count() == before


def test_wrong_methods_are_refused(store: MemoryStore, alice: User, bob: User) -> None:
    client = signed_in(alice)
    for address in addresses(store, bob, invited(store)):
        assert client.put(address).status_code == 405
        assert client.get(address).status_code == (200 if address.endswith(("members", "keys", "leaving")) else 405)


def test_the_list_shows_members_with_their_roles(store: MemoryStore, alice: User, bob: User, charlie: User) -> None:
    html = text(signed_in(alice).get(at(store)))
    assert "bob@example.com" in html and "charlie@example.com" not in html
    assert '<option value="viewer" selected>' in html


@pytest.mark.both_databases
def test_a_long_list_goes_on(store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses.page, "__defaults__", (10,))
    for number in range(15):
        keys_and_roles.set_role(store, new_person(f"P{number:03}"), Role.VIEWER, **BY)
    html = text(signed_in(alice).get(at(store)))
    assert "p008@example.com" in html and "p014@example.com" not in html
    assert "p014@example.com" in text(signed_in(alice).get(at(store) + "?after=p008%40example.com"))


def link_in(response: Any) -> str:
    """The address of the invitation that a page shows."""
    found = re.search(r"http://127\.0\.0\.1:8000(/invitations/[\w-]+)", text(response))
    assert found is not None
    return found[1]


def test_an_admin_does_not_learn_whether_an_address_has_an_account(
    store: MemoryStore, alice: User, charlie: User, superuser: User
) -> None:
    """The same answer and the same pages afterwards, but for the address and the link."""
    people.set_active(new_person("Dora"), False, **BY)
    answers = []
    for email in ("charlie@example.com", "dora@example.com", "nobodyy@example.com"):
        response = signed_in(alice).post(at(store), {"email": email, "role": "viewer", "form": email})
        shown = re.sub(r"/invitations/[\w-]+|[\w.-]+@example\.com", "", text(response))
        answers.append((response.status_code, re.sub(r"[\w-]{20,}|\d\d:\d\d:\d\d", "", shown)))  # no tokens, no times
        assert last(store).command == "invite"
        Client().get(link_in(response))
    assert answers[0] == answers[1] == answers[2]
    assert charlie.role_in(store) is None


def test_somebody_who_has_an_account_accepts_while_signed_in(
    store: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    link = link_in(signed_in(alice).post(at(store), {"email": "charlie@example.com", "role": "curator"}))
    joins = {"name": "Eve", "password": "a wholly different one", "again": "a wholly different one"}
    assert "sign in with it, then open this link again" in text(Client().post(link, joins))
    assert "Create the account" in text(signed_in(bob).get(link)) and "Accept" not in text(signed_in(bob).get(link))
    client = signed_in(charlie)
    assert "You are signed in as charlie@example.com" in text(client.get(link))
    assert charlie.role_in(store) is None
    assert client.post(link).status_code == 303 and charlie.role_in(store) == Role.CURATOR
    assert (last(store).command, last(store).actor_id) == ("set_role", charlie.id)
    assert "joined with the role curator, invited by Alice" in text(signed_in(alice).get(f"/stores/{store.pk}/audit"))
    assert client.post(link, joins).status_code == 410 and Client().get(link).status_code == 410


def test_accepting_takes_no_higher_role_away(store: MemoryStore, alice: User, charlie: User) -> None:
    link = link_in(signed_in(alice).post(at(store), {"email": "charlie@example.com", "role": "viewer"}))
    keys_and_roles.set_role(store, charlie, Role.ADMIN, **BY)
    assert signed_in(charlie).post(link).status_code == 303
    assert charlie.role_in(store) == Role.ADMIN


@pytest.mark.both_databases
def test_a_member_of_another_store_of_the_admin_becomes_a_member_at_once(
    store: MemoryStore, other: MemoryStore, alice: User, charlie: User
) -> None:
    keys_and_roles.set_role(other, charlie, Role.VIEWER, **BY)
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    response = signed_in(alice).post(at(store), {"email": "CHARLIE@example.com", "role": "curator"})
    assert response.status_code == 303
    assert charlie.role_in(store) == Role.CURATOR
    assert (last(store).command, last(store).actor_id) == ("set_role", alice.id)
    assert not Invitation.objects.exists()


def test_somebody_without_an_account_is_invited(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    given = {"email": "dora@example.com", "role": "curator", "form": "f"}
    response = client.post(at(store), given)
    found = re.search(r"http://127\.0\.0\.1:8000(/invitations/[\w-]+)", text(response))
    assert found is not None and "no-store" in response.headers["Cache-Control"]
    assert "you can assign reviews to them" in text(response)
    assert client.post(at(store), given).status_code == 303
    assert Invitation.objects.count() == 1
    assert (last(store).command, last(store).actor_id) == ("invite", alice.id)
    assert "dora@example.com" in text(client.get(at(store))) and found[1] not in text(client.get(at(store)))
    joins = {"name": HOSTILE, "password": "a wholly different one", "again": "a wholly different one"}
    assert Client().post(found[1], joins).status_code == 303
    dora = User.objects.get(email="dora@example.com")
    assert (dora.role_in(store), dora.is_superuser) == (Role.CURATOR, False)
    assert HOSTILE not in client.get(at(store)).content.decode()


def test_a_link_says_that_somebody_with_an_account_accepts_and_lets_anybody_else_who_is_signed_in_go(
    store: MemoryStore, alice: User, charlie: User
) -> None:
    """Who has an account is for the admins of other memory stores a secret: the link says the same of both."""
    said = []
    for email in ("dora@example.com", charlie.email):
        response = signed_in(alice).post(at(store), {"email": email, "role": "viewer", "form": email})
        said.append(text(response).replace(email, "…"))
        link = re.search(r"http://127\.0\.0\.1:8000(/invitations/[\w-]+)", text(response))
        assert (
            link is not None and "If this address already has an account, the person signs in and accepts" in said[-1]
        )
    page = text(signed_in(alice).get(link[1]))
    assert f"You are signed in as {alice.email}" in page and 'action="/sign-out"' in page
    assert 'href="/sign-in"' not in page, "it leads somebody who is signed in away from the link"
    assert 'href="/sign-in"' in text(Client().get(link[1]))
    assert "You are signed in as charlie@" in text(signed_in(charlie).get(link[1]))


@pytest.mark.both_databases
def test_an_invitation_is_withdrawn_by_an_admin_of_its_store(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    mine, theirs = invited(store), invited(other)
    client = signed_in(alice)
    assert client.post(at(store, f"invitations/{theirs.id}/withdraw")).status_code == 404
    assert client.post(at(store, f"invitations/{mine.id}/withdraw")).status_code == 303
    assert client.post(at(store, f"invitations/{mine.id}/withdraw")).status_code == 404
    assert (last(store).command, last(store).actor_id) == ("withdraw_invitation", alice.id)


@in_turn(
    ("email", "role"),
    [
        ("", "viewer"), ("no address", "viewer"), (HOSTILE, "viewer"), ("\x00@example.com", "viewer"),
        ("charlie@example.com", "owner"), ("charlie@example.com", ""), ("charlie@example.com", HOSTILE),
        ("bob@example.com", "admin"),
    ],
)  # fmt: skip
def test_a_malformed_addition_changes_nothing(
    store: MemoryStore, alice: User, bob: User, charlie: User, email: str, role: str
) -> None:
    response = signed_in(alice).post(at(store), {"email": email, "role": role})
    assert response.status_code == 200 and "errorlist" in text(response)
    assert HOSTILE not in response.content.decode()
    assert charlie.role_in(store) is None and bob.role_in(store) == Role.VIEWER
    assert not Invitation.objects.exists()


def test_somebody_deactivated_is_not_added(store: MemoryStore, charlie: User, superuser: User) -> None:
    people.set_active(charlie, False, **BY)
    assert "deactivated" in text(signed_in(superuser).post(at(store), {"email": charlie.email, "role": "viewer"}))
    assert charlie.role_in(store) is None


def test_a_member_gets_another_role(store: MemoryStore, alice: User, bob: User) -> None:
    client = signed_in(alice)
    assert client.post(at(store, f"members/{bob.id}/role"), {"role": "curator"}).status_code == 303
    assert bob.role_in(store) == Role.CURATOR
    told = json.loads(last(store).input or "")
    assert (told["before"], told["role"], last(store).actor_id) == ("viewer", "curator", alice.id)
    before = last(store).seq
    client.post(at(store, f"members/{bob.id}/role"), {"role": "curator"})
    assert last(store).seq == before


@pytest.mark.parametrize("role", ["", "owner", HOSTILE, "\x00", "ADMIN"])
def test_there_are_no_other_roles(store: MemoryStore, alice: User, bob: User, role: str) -> None:
    assert signed_in(alice).post(at(store, f"members/{bob.id}/role"), {"role": role}).status_code == 400
    assert bob.role_in(store) == Role.VIEWER


def test_somebody_who_is_no_member_has_no_role_to_change(store: MemoryStore, alice: User, charlie: User) -> None:
    for rest in (f"members/{charlie.id}/role", f"members/{charlie.id}/leaving", "members/user_x/role"):
        assert signed_in(alice).post(at(store, rest), {"role": "admin"}).status_code == 404
    assert charlie.role_in(store) is None


def test_a_member_is_removed_and_sees_nothing_any_more(store: MemoryStore, alice: User, bob: User) -> None:
    theirs = signed_in(bob)
    assert theirs.get(at(store)).status_code == 403
    client, asks = signed_in(alice), at(store, f"members/{bob.id}/leaving")
    assert f'href="{asks}" aria-label="Remove bob@example.com"' in text(client.get(at(store)))
    assert "will no longer be a member" in text(client.get(asks)) and bob.role_in(store) == Role.VIEWER
    assert client.post(asks).status_code == 303
    assert theirs.get(at(store)).status_code == 404
    assert (last(store).command, last(store).actor_id) == ("set_role", alice.id)


@pytest.mark.both_databases
@pytest.mark.parametrize(("rest", "given"), [("leaving", {}), ("role", {"role": "viewer"})])
def test_the_last_admin_stays_one(store: MemoryStore, alice: User, bob: User, rest: str, given: dict[str, str]) -> None:
    client = signed_in(alice)
    before = last(store).seq
    assert client.post(at(store, f"members/{alice.id}/{rest}"), given).status_code == 303
    assert "at least one admin" in text(client.get(at(store)))
    assert alice.role_in(store) == Role.ADMIN and last(store).seq == before


def test_a_deactivated_admin_does_not_look_after_a_store(
    store: MemoryStore, alice: User, charlie: User, superuser: User
) -> None:
    keys_and_roles.set_role(store, charlie, Role.ADMIN, **BY)
    people.set_active(charlie, False, **BY)
    signed_in(alice).post(at(store, f"members/{alice.id}/leaving"))
    assert alice.role_in(store) == Role.ADMIN


def test_one_of_two_admins_may_leave(store: MemoryStore, alice: User, charlie: User) -> None:
    keys_and_roles.set_role(store, charlie, Role.ADMIN, **BY)
    response = signed_in(alice).post(at(store, f"members/{alice.id}/leaving"))
    assert response.headers["Location"] == "/stores"
    assert alice.role_in(store) is None


def test_a_superuser_may_remove_the_last_admin(store: MemoryStore, alice: User, superuser: User) -> None:
    client = signed_in(superuser)
    assert client.post(at(store, f"members/{alice.id}/leaving")).status_code == 303
    assert alice.role_in(store) is None
    assert "No members yet" in text(client.get(at(store)))


# ------------------------------------------------------------------------------------------------------------- keys


def works(store: MemoryStore, secret: str) -> int:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
    url = f"/v1/memory_stores/{store.id}/tool_calls"
    given = {"x-api-key": secret}
    return Client().post(url, json.dumps(block), "application/json", headers=given).status_code


def secret_in(response: Any) -> str:
    found = re.search(r'<code id="key"[^>]*>(mh_[\w-]+)</code>', response.content.decode())
    assert found is not None
    return found[1]


def test_an_admin_issues_a_key_to_this_store_alone(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    given = {"agent": "new", "new_agent": "Triage bot", "access": "write", "expires_in": "7", "form": "f"}
    given["scope"] = "all"
    response = client.post(at(store, "keys"), given | {"stores": [other.id], "all_stores": "on"})
    secret, key = secret_in(response), Key.objects.get()
    assert works(store, secret) == 200 and works(other, secret) == 404
    assert [found.id for found in key.stores.all()] == [store.id] and not key.all_stores
    assert key.created_by == alice and key.agent.name == "Triage bot"
    assert store.id in text(response) and "no-store" in response.headers["Cache-Control"]
    assert client.post(at(store, "keys"), given).status_code == 303
    assert Key.objects.count() == 1
    assert secret not in text(client.get(at(store, "keys"))) and "Triage bot" in text(client.get(at(store, "keys")))


def test_an_admin_uses_an_agent_that_works_in_this_store(
    store: MemoryStore, other: MemoryStore, agent: Agent, alice: User
) -> None:
    foreign = keys_and_roles.create_agent("Payroll", **BY)
    keys_and_roles.issue_key(agent, stores=[store], **BY)
    keys_and_roles.issue_key(foreign, stores=[other], **BY)
    client = signed_in(alice)
    page = text(client.get(at(store, f"keys?agent={agent.id}")))
    assert f'<option value="{agent.id}" selected>' in page and "Payroll" not in page
    given = {"access": "read", "expires_in": "7"}
    refused = client.post(at(store, "keys"), given | {"agent": foreign.id})
    assert refused.status_code == 200 and "errorlist" in text(refused)
    secret = secret_in(client.post(at(store, "keys"), given | {"agent": agent.id}))
    assert works(store, secret) == 200


@in_turn(
    ("field", "value"),
    [
        ("agent", ""), ("agent", "x"), ("agent", "\x00"), ("new_agent", ""), ("new_agent", "a\u202eb"),
        ("new_agent", "a\nb"), ("new_agent", "x" * 101), ("access", ""),
        ("access", "root"), ("expires_in", ""), ("expires_in", "13"), ("expires_on", "2001-01-01"), ("name", "a\nb"),
    ],
)  # fmt: skip
def test_a_malformed_key_is_none(store: MemoryStore, agent: Agent, alice: User, field: str, value: str) -> None:
    given = {"agent": "new", "new_agent": "Triage bot", "access": "read", "expires_in": "7", field: value}
    response = signed_in(alice).post(at(store, "keys"), given)
    assert response.status_code == 200 and "errorlist" in text(response)
    assert not Key.objects.exists() and Agent.objects.count() == 1


def test_an_agent_is_chosen_or_named_but_not_both(store: MemoryStore, agent: Agent, alice: User) -> None:
    keys_and_roles.issue_key(agent, stores=[store], **BY)
    given = {"agent": agent.id, "new_agent": "x", "access": "read", "expires_in": "7"}
    assert "not both" in text(signed_in(alice).post(at(store, "keys"), given))
    assert Key.objects.count() == 1


def test_the_list_names_no_store_that_the_admin_has_no_role_in(
    store: MemoryStore, other: MemoryStore, agent: Agent, alice: User
) -> None:
    keys_and_roles.issue_key(agent, stores=[store, other], **BY)
    keys_and_roles.issue_key(agent, stores=[other], name="not of this store", **BY)
    keys_and_roles.issue_key(agent, all_stores=True, **BY)
    page = text(signed_in(alice).get(at(store, "keys")))
    assert "Salaries" not in page and "not of this store" not in page
    assert "others, in which you have no role" in page and "all memory stores" in page
    assert "/revoke" not in page


def test_a_hostile_agent_is_shown_and_not_run(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    given = {"agent": "new", "new_agent": HOSTILE, "access": "read", "expires_in": "never"}
    assert HOSTILE not in client.post(at(store, "keys"), given).content.decode()
    html = client.get(at(store, "keys")).content.decode()
    assert HOSTILE not in html and "&lt;script&gt;" in html


@pytest.mark.both_databases
def test_an_admin_does_not_learn_whether_an_agent_of_a_name_works_elsewhere(
    store: MemoryStore, other: MemoryStore, alice: User, superuser: User
) -> None:
    elsewhere = keys_and_roles.create_agent("Triage bot", **BY)
    keys_and_roles.issue_key(elsewhere, stores=[other], **BY)
    given = {"agent": "new", "new_agent": "Triage bot", "access": "read", "expires_in": "7", "form": "a"}
    assert signed_in(alice).post(at(store, "keys"), given).status_code == 200
    mine = Agent.objects.of_store(store).get(folded_name="triage bot")
    assert mine.id != elsewhere.id
    answer = text(signed_in(alice).post(at(store, "keys"), given | {"form": "b"}))
    assert "Another agent has this name." in answer
    shown = text(signed_in(superuser).get("/agents"))
    assert f"…{mine.id[-6:]}" in shown and f"…{elsewhere.id[-6:]}" in shown
    assert f"…{mine.id[-6:]}" not in text(signed_in(alice).get("/agents"))
