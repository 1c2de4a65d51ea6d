"""Whoever cannot review is shown no number of what awaits review: in the navigation, on Today, in the overviews and in
the list of memory stores."""

import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, MemoryStore, Role, User
from memoryhub.templatetags.counts import Counts, counts_for
from tests.support.fixtures import BY, signed_in
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(agent: Agent, bob: User) -> MemoryStore:
    """A memory store in which Bob is a curator, and two versions await review."""
    other = stores.create_store(stores.StoreSettings(name="Curated"), **BY)
    keys_and_roles.set_role(other, bob, Role.CURATOR, **BY)
    caller = Caller(other, keys_and_roles.issue_key(agent, stores=[other], access=Access.WRITE, **BY)[1])
    caller.create("/b.md", "two\n")
    caller.create("/c.md", "three\n")
    return other


@pytest.fixture
def written(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    return caller


def counted(html: str) -> list[str]:
    """The number beside *Review* in the navigation, if any."""
    return re.findall(r'<span id="review-count">\s*<span class="count">(\d+)', html)


def text(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_viewer_is_asked_for_no_review_and_may_still_look(written: Caller, bob: User, alice: User) -> None:
    store = written.store.pk
    pages = (("today",), ("overview",), ("store_overview", store), ("stores",))
    for page in pages:
        asked = text(signed_in(alice), *page)
        assert counted(asked) == ["1"] and ("To review" in asked or "ersions to review" in asked), page
        html = text(signed_in(bob), *page)
        assert counted(html) == [] and "To review" not in html, page
        assert "badge-waiting" not in html and "tile-waiting" not in html, page
    assert "/a.md" in text(signed_in(bob), "review")


@pytest.mark.both_databases
def test_the_numbers_are_those_of_the_person_and_of_their_role(
    written: Caller, alice: User, bob: User, charlie: User, superuser: User
) -> None:
    written.create("/b.md", f"{POISON}\n")
    found = [counts_for(person) for person in (alice, bob, charlie, superuser, AnonymousUser())]
    of_admin = Counts(findings=1, versions=2)
    assert found == [of_admin, Counts(findings=1), Counts(), of_admin, Counts()]


@pytest.mark.both_databases
def test_only_what_one_may_decide_is_counted(written: Caller, other: MemoryStore, bob: User) -> None:
    client = signed_in(bob)
    today = client.get("/")
    assert counted(today.content.decode()) == ["2"]
    assert {row.store.pk for row in today.context["waiting"].rows} == {other.pk}
    tile = client.get(reverse("overview")).context["tiles"][0]
    assert (tile.icon, tile.shown) == ("inbox", "2")
    rows = text(client, "stores")
    assert re.findall(r'badge-waiting" href="[^"]*">(\d+)', rows) == ["2"]
