"""The first hour: five steps on the home page that tick themselves, and the page of a new key that waits for a call."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import Access, AuditEntry, Invitation, Key, Member, MemoryStore, MemoryVersion, User
from memoryhub.pure import ids
from memoryhub.web.agents import keys
from tests.support.fixtures import BY, signed_in

pytestmark = pytest.mark.django_db

HTMX = {"hx-request": "true"}


def steps(client: Client) -> list[bool]:
    """Which of the steps that the home page shows are done."""
    return [step.is_done for step in client.get("/").context["steps"]]


def part(client: Client) -> str:
    return client.get("/", {"part": "first-steps"}).content.decode()


@pytest.fixture
def root(superuser: User) -> Client:
    return signed_in(superuser)


def test_an_empty_hub_leads_from_the_first_store_to_the_first_reviewer(root: Client, superuser: User) -> None:
    assert steps(root) == [False] * 5
    root.post(reverse("new_store"), {"name": "Support", "description": ""})
    store = MemoryStore.objects.get()
    assert "copy the call from the page of the memory store" in part(root)
    assert "snippet-curl-writes" in root.get(reverse("store", args=[store.pk])).content.decode()
    assert steps(root) == [True, False, False, False, False]
    assert reverse("store_keys", args=[store.pk]) in root.get("/").content.decode()

    agent = keys_and_roles.create_agent("support-assistant", **BY)
    _, secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)
    waits = part(root)
    assert "Waiting for the first call" in waits and 'hx-trigger="every 3s"' in waits

    called(store, secret, command="view", path="/memories")
    assert steps(root) == [True, True, False, False, False]
    called(store, secret, command="create", path="/memories/a.md", file_text="Likes tea.")
    assert steps(root) == [True, True, True, False, False]
    assert "hx-trigger" not in part(root)
    version = MemoryVersion.objects.get(store_id=store.pk)
    root.post(reverse("decide", args=[store.pk]), {"decision": "approve", "version": version.pk})
    assert steps(root) == [True, True, True, True, False]
    assert "Invite a person" in part(root)

    invite(root, stores=store.pk, role="curator")
    assert steps(root) == []
    assert "All first steps are done" in part(root)


def test_they_are_for_administrators_of_the_hub(alice: User, store: MemoryStore) -> None:
    assert steps(signed_in(alice)) == [] and part(signed_in(alice)) == ""
    assert signed_in(alice).post(reverse("hide_first_steps")).status_code == 403


@pytest.mark.both_databases
def test_who_hides_them_sees_them_no_more(root: Client) -> None:
    assert steps(root)
    assert root.get(reverse("hide_first_steps")).status_code == 405
    assert root.post(reverse("hide_first_steps")).headers["Location"] == "/"
    assert steps(root) == [] and part(root) == ""
    assert "Create the first memory store" in root.get("/").content.decode()


def called(store: MemoryStore, secret: str, **input: str) -> Any:
    """The answer to a tool call of an agent."""
    call = {"type": "tool_use", "id": ids.new_id("toolu", timezone.now()), "name": "memory", "input": input}
    headers = {"authorization": f"Bearer {secret}"}
    return Client().post(f"/v1/memory_stores/{store.pk}/tool_calls", call, "application/json", headers=headers).json()


def secret_on(page: Any) -> str:
    found = re.search(r"mh_[\w-]{20,}", page.content.decode())
    assert found
    return found.group()


def new_key(client: Client, store: MemoryStore) -> tuple[Key, Any]:
    """A key that was issued in the browser, and the page that shows it."""
    form = {"agent": "new", "new_agent": "support-assistant", "name": "", "access": "write", "expires_in": "90"}
    page = client.get(reverse("store_keys", args=[store.pk])).context["form_once"]
    answer = client.post(reverse("store_keys", args=[store.pk]), {**form, "form": page})
    return Key.objects.get(agent__name="support-assistant"), answer


def test_the_page_of_a_new_key_waits_for_the_first_call_and_shows_it(alice: User, store: MemoryStore) -> None:
    client = signed_in(alice)
    issued, page = new_key(client, store)
    address = reverse("first_call", args=[issued.pk])
    assert "Waiting for the first call" in page.content.decode() and f'hx-get="{address}"' in page.content.decode()
    assert "Waiting for the first call" in client.get(address, headers=HTMX).content.decode()
    secret = secret_on(page)
    called(store, secret, command="view", path="/memories")
    called(store, secret, command="create", path="/memories/later.md", file_text="x")
    html = client.get(address, headers=HTMX).content.decode()
    assert "The first call has arrived." in html and "support-assistant viewed" in html and "hx-get" not in html
    first = AuditEntry.objects.of_chain(store.pk).filter(command="view").get()
    assert reverse("entry", args=[store.pk, first.seq]) in html


def test_the_page_of_a_new_key_stays_when_the_sign_in_ends_and_leads_to_the_agent(
    alice: User, store: MemoryStore
) -> None:
    client = signed_in(alice)
    issued, _ = new_key(client, store)
    address = reverse("first_call", args=[issued.pk])
    html = Client().get(address, headers=HTMX).content.decode()
    assert "You are signed out." in html and f"/sign-in?next={quote(address, '')}" in html and "hx-get" not in html
    assert client.get(address).headers["Location"] == reverse("agent", args=[issued.agent_id])
    assert Client().get(address).headers["Location"] == f"/sign-in?next={address}"


def test_a_call_that_may_not_be_the_first_is_not_called_so(
    alice: User, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "LOOK", 2)
    client = signed_in(alice)
    issued, page = new_key(client, store)
    for _ in range(3):
        called(store, secret_on(page), command="view", path="/memories")
    html = client.get(reverse("first_call", args=[issued.pk]), headers=HTMX).content.decode()
    assert "The first call has arrived." in html and "Show the call" not in html


@pytest.mark.both_databases
def test_a_key_that_was_revoked_is_not_waited_for(root: Client, alice: User, store: MemoryStore) -> None:
    issued, _ = new_key(signed_in(alice), store)
    assert "Waiting for the first call" in part(root)
    keys_and_roles.revoke_key(issued, **BY)
    assert "Waiting for the first call" not in part(root) and "Issue a key" in part(root)


@pytest.mark.both_databases
def test_a_first_call_that_was_refused_says_so(alice: User, store: MemoryStore) -> None:
    client = signed_in(alice)
    issued, page = new_key(client, store)
    assert called(store, secret_on(page), command="view", path="/memories/no")["is_error"]
    page = client.get(reverse("first_call", args=[issued.pk]), headers=HTMX).content.decode()
    assert "The hub refused the call." in page


def test_who_may_not_see_the_store_learns_nothing_of_the_key(alice: User, charlie: User, store: MemoryStore) -> None:
    issued, _ = new_key(signed_in(alice), store)
    assert signed_in(charlie).get(reverse("first_call", args=[issued.pk])).status_code == 404


def invite(client: Client, **given: str | list[str]) -> Any:
    form = {"email": "dora@example.com", **given, "form": client.get(reverse("people")).context["form_once"]}
    return client.post(reverse("invite_person"), form)


def test_a_reviewer_is_invited_with_address_store_and_role_in_one_form(root: Client, store: MemoryStore) -> None:
    assert "Curator: also reviews what agents write" in root.get(reverse("people")).content.decode()
    invite(root, stores=store.pk, role="curator")
    made = Invitation.objects.get()
    assert (made.email, made.store, made.role, made.is_superuser) == ("dora@example.com", store, "curator", False)


@pytest.mark.both_databases
@pytest.mark.parametrize("is_known", [False, True])
def test_one_link_invites_to_several_stores(
    root: Client, store: MemoryStore, superuser: User, charlie: User, is_known: bool
) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), admin=superuser, **BY)
    wrong = invite(root, stores=[store.pk, other.pk])
    assert "Choose a role." in wrong.content.decode() and not Invitation.objects.exists()
    email = charlie.email if is_known else "dora@example.com"
    page = invite(root, stores=[store.pk, other.pk], role="curator", email=email).content.decode()
    assert f"<b>{store.name}</b>" in page and "<b>Other</b>" in page and Invitation.objects.count() == 2
    link = re.search(r'id="link"[^>]*>http://[^/]+([^<]+)<', page)
    assert link
    guest = signed_in(charlie) if is_known else Client()
    shown = guest.get(link[1]).content.decode()
    assert store.name in shown and "Other" in shown
    secret = {"password": "a long passphrase 42", "again": "a long passphrase 42"}
    guest.post(link[1], {} if is_known else {"name": "Dora", **secret})
    joined = Member.objects.filter(user__email=email).values_list("store__name", "role")
    assert set(joined) == {(store.name, "curator"), ("Other", "curator")}
    assert guest.get(link[1]).status_code == 410
    assert verify.verify(store.pk)[1] is None and verify.verify(other.pk)[1] is None


@pytest.mark.both_databases
def test_of_several_stores_those_that_were_withdrawn_are_not_joined(
    root: Client, superuser: User, store: MemoryStore
) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), admin=superuser, **BY)
    page = invite(root, stores=[store.pk, other.pk], role="viewer").content.decode()
    link = re.search(r'id="link"[^>]*>http://[^/]+([^<]+)<', page)
    assert link
    first = people.find_invitation(link[1].rstrip("/").rsplit("/", 1)[1], timezone.now())
    assert first
    beside = Invitation.objects.exclude(pk=first.pk).get()
    root.post(reverse("withdraw_invitation", args=[beside.pk]))
    secret = {"password": "a long passphrase 42", "again": "a long passphrase 42"}
    Client().post(link[1], {"name": "Dora", **secret})
    assert list(Member.objects.filter(user__name="Dora").values_list("store_id", flat=True)) == [first.store_id]


def test_an_administrator_is_invited_to_no_store(root: Client, store: MemoryStore) -> None:
    answer = invite(root, stores=store.pk, role="admin", is_superuser="on")
    assert "may do everything in every memory store" in answer.content.decode()
    assert not Invitation.objects.exists()
    invite(root, is_superuser="on")
    assert Invitation.objects.get().is_superuser
