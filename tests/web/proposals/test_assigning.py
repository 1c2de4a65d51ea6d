"""Assigning a proposal, the lists of what is assigned to whom, and the mark that somebody is looking at one."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.verification import verify
from memoryhub.models import MemoryStore, Proposal, Role, User
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import begun, listed, newest, proposes, refuse, state, url_of
from tests.web.proposals.test_inbox import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """An agent with two open proposals."""
    caller = begun(store, key)
    for name in "ab":
        caller.session = f"run-{name}"
        proposes(caller, "create", f"/policies/{name}.md", file_text="new\n")
    return caller


@pytest.fixture
def bob(bob: User, store: MemoryStore) -> User:
    """Bob reviews here, too."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    return bob


def assign(client: Client, store: MemoryStore, who: str, number: int = 1, *, htmx: bool = False, **given: str) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    url = reverse("assign_proposal", args=[store.pk, number])
    return client.post(url, {"who": who, "next": url_of(store, number), **given}, headers=headers, follow=not htmx)


def numbers(client: Client, store: MemoryStore, query: str) -> list[int]:
    return [row.proposal.number for row, *_ in client.get(listed(store, query)).context["rows"]]


@pytest.mark.both_databases
def test_one_takes_a_proposal_and_gives_it_back(caller: Caller, store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    answer = assign(client, store, "me", htmx=True).content.decode()
    assert "Assigned to you" in answer and "Assign to no one" in answer
    assert numbers(client, store, "?is=mine") == [1] and numbers(client, store, "?is=unassigned") == [2]
    for query, wanted in (("is:mine", ["#1"]), ("-is:mine", ["#2"]), ("is:unassigned", ["#2"])):
        assert rows(client, f"?q={query}") == wanted, query
    assert "The review is assigned to no one." in assign(client, store, "nobody").content.decode()
    assert numbers(client, store, "?is=mine") == [] == rows(client, "?q=is:mine")
    assert "No proposal is assigned to you" in client.get(listed(store, "?is=mine")).content.decode()


def test_a_colleague_is_asked_and_all_see_who(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    page = signed_in(alice).get(url_of(store)).content.decode()
    assert f'<option value="{bob.pk}"' in page and f'<option value="{alice.pk}"' not in page
    assert "The review is assigned to Bob." in assign(signed_in(alice), store, "other", to=bob.pk).content.decode()
    for url in (url_of(store), listed(store), "/review?q=assigned:bob@example.com"):
        assert "Assigned to Bob" in signed_in(alice).get(url).content.decode()
    assert rows(signed_in(bob), "?q=is:mine") == ["#1"] == rows(signed_in(alice), "?q=assigned:bob@example.com")
    assert "Bob has 1 to review." in " ".join(signed_in(alice).get("/review?q=is:mine").content.decode().split())
    assigned = signed_in(alice).get(reverse("entry", args=[store.pk, newest(store).seq])).content.decode()
    assert "assigned proposal #1 to bob@example.com" in assigned
    assign(signed_in(bob), store, "nobody")
    taken = signed_in(alice).get(reverse("entry", args=[store.pk, newest(store).seq])).content.decode()
    assert "took proposal #1 from bob@example.com" in taken


def test_it_ends_with_the_role_and_no_one_else_can_be_asked(
    caller: Caller, store: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    assign(signed_in(alice), store, "other", to=bob.pk)
    keys_and_roles.set_role(store, bob, Role.VIEWER, **BY)
    assert numbers(signed_in(bob), store, "?is=mine") == []
    assert numbers(signed_in(alice), store, "?is=unassigned") == [1, 2] and rows(signed_in(alice), "?is=unassigned")
    assert "Assigned to Bob" not in signed_in(alice).get(url_of(store)).content.decode()
    assert assign(signed_in(bob), store, "me").status_code == 403
    assert assign(signed_in(charlie), store, "me").status_code == 404
    for other in (bob.pk, charlie.pk, "user_\0"):
        answer = assign(signed_in(alice), store, "other", to=other, htmx=True).content.decode()
        assert "does not review in this memory store" in answer
    assert assign(signed_in(alice), store, "me", 9).status_code == 404


def test_a_closed_proposal_is_assigned_to_no_one_new(caller: Caller, store: MemoryStore, alice: User) -> None:
    refuse(signed_in(alice), store)
    answer = assign(signed_in(alice), store, "me").content.decode()
    assert "Someone has already decided about this proposal." in answer
    assert newest(store).command == "refuse_proposal"


@pytest.mark.both_databases
def test_the_audit_seals_who_has_it(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    assign(signed_in(alice), store, "me")
    assert verify.verify(store.pk)[1] is None
    with tampering():
        Proposal.objects.filter(number=1).update(assigned_to=bob)
    problem = verify.verify(store.pk)[1]
    assert problem is not None and "is not as it was left by this entry" in str(problem)


def test_who_decides_while_somebody_is_looking_is_asked_once(
    caller: Caller, store: MemoryStore, alice: User, bob: User
) -> None:
    claim = reverse("claim_proposal", args=[store.pk, 1])
    assert "looking" not in signed_in(bob).post(claim).content.decode()
    assert "Bob is looking at this" in signed_in(alice).post(claim).content.decode()
    client = signed_in(alice)
    for url in (url_of(store), "/review?what=proposal"):
        assert "Bob is looking at this" in client.get(url).content.decode()
    fields = form_with(client.get(url_of(store)).content.decode(), "digest")
    asked = client.post(url_of(store), fields | {"decision": "merge"}).content.decode()
    assert "Press again to decide anyway" in asked and state(store)[0] == "open"
    client.post(url_of(store), form_with(asked, "digest") | {"decision": "merge"})
    assert state(store)[0] == "merged" and signed_in(bob).post(claim).status_code == 204
    assert verify.verify(store.pk)[1] is None, "no seal covers the mark"


@pytest.mark.both_databases
def test_the_mark_ends(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    signed_in(bob).post(reverse("claim_proposal", args=[store.pk, 1]))
    proposal = Proposal.objects.get(number=1)
    assert proposal.claimed_until is not None
    proposal.claimed_until -= timedelta(minutes=6)
    with tampering():
        proposal.save(update_fields=["claimed_until"])
    assert "is looking" not in signed_in(alice).get(url_of(store)).content.decode()
    refuse(signed_in(alice), store)
    assert state(store)[0] == "refused"
