"""The list of proposals, and what leads to it: the store's tabs, the review inbox, Today and the search box."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.stores import stores
from memoryhub.models import MemoryStore, User
from memoryhub.web.proposals import listing
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import (
    begun,
    holds_back,
    listed,
    moves,
    proposes,
    refuse,
    replaces,
    send,
    url_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return begun(store, key, "/policies/a.md", "/policies/b.md")


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def numbers(client: Client, url: str) -> list[int]:
    return [row.proposal.number for row, *_ in client.get(url).context["rows"]]


def propose_in_sessions(caller: Caller, count: int) -> None:
    for number in range(1, count + 1):
        caller.session = f"run-{number}"
        proposes(caller, "create", f"/policies/new-{number}.md", file_text="new\n")


def test_a_row_tells_who_proposes_what(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, "/policies/a.md", "two", "2")
    replaces(caller, "/policies/a.md", "six", "6")
    moves(caller, "/policies/b.md", "/policies/c.md")
    for name in ("d", "e"):
        proposes(caller, "create", f"/policies/{name}.md", file_text="new\n")
    page = curator.get(listed(store))
    html = page.content.decode()
    ((row, *_),) = page.context["rows"]
    assert row.kinds == [("created", 2), ("modified", 1), ("moved", 1)]
    assert all(said in html for said in ("#1", "Support bot", "run-7", "2 new", "1 edited", "and 1 more"))
    assert url_of(store) in html


def test_open_ones_are_in_order_and_decided_ones_apart(caller: Caller, store: MemoryStore, curator: Client) -> None:
    propose_in_sessions(caller, 4)
    refuse(curator, store, 1, note="No, ask finance.")
    send(curator, store, 3)
    assert numbers(curator, listed(store)) == [2, 4]
    assert numbers(curator, listed(store, "?state=decided")) == [3, 1]
    html = curator.get(listed(store, "?state=decided")).content.decode()
    assert all(said in html for said in ("Merged", "Refused", "No, ask finance.", "Alice"))


@pytest.mark.both_databases
def test_long_lists_have_pages(
    caller: Caller, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    propose_in_sessions(caller, 5)
    assert numbers(curator, listed(store)) == [1, 2]
    assert 'href="?after=2"' in curator.get(listed(store)).content.decode()
    assert numbers(curator, listed(store, "?after=2")) == [3, 4]
    assert numbers(curator, listed(store, "?after=4")) == [5]
    assert "No more proposals" in curator.get(listed(store, "?after=5")).content.decode()
    for number in (1, 2, 3):
        refuse(curator, store, number)
    assert numbers(curator, listed(store, "?state=decided")) == [3, 2]
    assert numbers(curator, listed(store, "?state=decided&after=2")) == [1]


def test_an_empty_list_says_what_makes_a_proposal(store: MemoryStore, curator: Client, charlie: User) -> None:
    html = curator.get(listed(store)).content.decode()
    assert "No proposal waits" in html and reverse("path_rules", args=[store.pk]) in html
    assert "Nothing has been decided yet" in curator.get(listed(store, "?state=decided")).content.decode()
    assert signed_in(charlie).get(listed(store)).status_code == 404


def test_the_tabs_count_what_is_open(caller: Caller, store: MemoryStore, bob: User) -> None:
    propose_in_sessions(caller, 2)
    html = signed_in(bob).get(reverse("store", args=[store.pk])).content.decode()
    assert '<span class="count">2<span class="visually-hidden"> open</span></span>' in html


def test_today_shows_proposals_among_what_waits_to_whoever_may_decide(
    caller: Caller, store: MemoryStore, alice: User, bob: User, superuser: User
) -> None:
    propose_in_sessions(caller, 2)
    for person, waits in ((alice, True), (superuser, True), (bob, False)):
        page = signed_in(person).get(reverse("today"))
        shown = [row.proposal.number for row in page.context["waiting"].rows if hasattr(row, "proposal")]
        assert shown == ([1, 2] if waits else [])
        assert (url_of(store, 2) in page.content.decode()) == waits
    stores.set_archived(store, True, **BY)
    assert url_of(store) not in signed_in(alice).get(reverse("today")).content.decode()


def test_the_search_box_finds_the_page(store: MemoryStore, curator: Client) -> None:
    holds_back(store)
    assert listed(store) in curator.get(reverse("palette") + f"?store={store.pk}&q=propos").content.decode()
