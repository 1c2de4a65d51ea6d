"""Two ticked sessions lead to what changed from the end of the one to the end of the other."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from memoryhub.models import Agent, Session, User
from tests.support.browser import sign_in_as
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

COMPARE = "/sessions/compare"


@pytest.fixture
def runs(caller: Caller) -> list[int]:
    """Three sessions; return the last entry of each."""
    ends = []
    for name in ("run-1", "run-2", "run-3"):
        caller.session = name
        caller.create(f"/{name}.md", "one\n")
        ends.append(caller.last.seq)
    return ends


def ticked(user: User, names: Sequence[str], **more: str) -> Any:
    sessions = [Session.objects.get(name=name).pk for name in names]
    return signed_in(user).get(COMPARE, {"session": sessions, **more})


def test_they_lead_to_the_changes_between_their_ends(caller: Caller, runs: list[int], bob: User) -> None:
    for order in (["run-3", "run-1"], ["run-1", "run-3"]):
        response = ticked(bob, order, store=caller.store.pk)
        assert response.url == f"{reverse('changes', args=[caller.store.pk])}?from={runs[0]}&to={runs[2]}"
    body = signed_in(bob).get(response.url).content.decode()
    assert "/run-2.md" in body and "/run-3.md" in body and "/run-1.md" not in body
    assert all(reverse("session", args=[Session.objects.get(name=name).pk]) in body for name in ("run-1", "run-3"))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "Tick the two sessions to compare."),
        (["run-1"], "Tick two sessions to compare: only 1 was ticked."),
        (["run-1", "run-2", "run-3"], "Tick two sessions to compare: 3 were ticked."),
    ],
)
def test_more_or_fewer_than_two_get_a_sentence_and_the_way_back(
    names: list[str], words: str, caller: Caller, runs: list[int], bob: User
) -> None:
    back = reverse("store_sessions", args=[caller.store.pk])
    body = ticked(bob, names, next=back).content.decode()
    assert words in body and f'href="{back}"' in body
    body = ticked(bob, names, next="https://example.com").content.decode()
    assert "Back to the sessions" not in body and "Sessions are listed under" in body
    assert all(
        f'<a href="{reverse(place)}">' in body.split("Sessions are listed under")[1] for place in ("stores", "agents")
    )


def test_the_lists_say_what_two_ticks_are_for(caller: Caller, agent: Agent, bob: User) -> None:
    pages = (reverse("store_sessions", args=[caller.store.pk]), reverse("agent", args=[agent.pk]))
    for name, said in (("run-1", False), ("run-2", True)):
        caller.session = name
        caller.create(f"/{name}.md", "one\n")
        for page in pages:
            assert ("Tick two sessions to see" in signed_in(bob).get(page).content.decode()) == said, page


def test_where_both_worked_in_several_stores_the_page_asks_in_which(
    caller: Caller, elsewhere: Caller, superuser: User, bob: User
) -> None:
    for one in (caller, elsewhere):
        for name in ("run-1", "run-2"):
            one.session = name
            one.create(f"/{name}.md", "one\n")
    body = ticked(superuser, ["run-1", "run-2"]).content.decode()
    assert all(reverse("changes", args=[one.store.pk]) in body for one in (caller, elsewhere))
    for user, wanted in ((superuser, elsewhere), (bob, caller)):
        assert reverse("changes", args=[wanted.store.pk]) in ticked(user, ["run-1", "run-2"], store=wanted.store.pk).url


def test_two_that_share_no_store_cannot_be_compared(caller: Caller, elsewhere: Caller, superuser: User) -> None:
    caller.session, elsewhere.session = "run-1", "run-2"
    for one in (caller, elsewhere):
        one.create("/a.md", "one\n")
    assert "no memory store that you may see" in ticked(superuser, ["run-1", "run-2"]).content.decode()


@pytest.mark.both_databases
def test_sessions_that_one_may_not_see_are_as_none(caller: Caller, runs: list[int], charlie: User, bob: User) -> None:
    assert "Tick the two sessions to compare." in ticked(charlie, ["run-1", "run-2"]).content.decode()
    unknown = signed_in(bob).get(COMPARE, {"session": ["sesn_unknown", "x" * 300]})
    assert "Tick the two sessions to compare." in unknown.content.decode()
    assert signed_in(bob).post(COMPARE).status_code == 405


@pytest.mark.push
@pytest.mark.browser
@pytest.mark.parametrize("list_", ["store", "agent"])
def test_two_rows_are_ticked_and_compared(
    list_: str, caller: Caller, runs: list[int], alice: User, page: Page, live_server: Any
) -> None:
    agent = Session.objects.get(name="run-1").agent
    address = (
        reverse("store_sessions", args=[caller.store.pk]) if list_ == "store" else reverse("agent", args=[agent.pk])
    )
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + address)
    compare = page.get_by_role("button", name="Compare")
    assert not compare.is_visible()
    page.get_by_label("Select run-1").check()
    page.get_by_label("Select run-3").check()
    assert page.get_by_text("2 selected").is_visible()
    compare.click()
    page.get_by_role("heading", name="What changed").wait_for()
    assert page.get_by_role("link", name="/run-2.md", exact=True).is_visible()
