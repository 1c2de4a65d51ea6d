"""The page of a session: who decided about its writes, whether it is live, and where it is in the menu."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.review import decisions
from memoryhub.models import Door, MemoryStore, User
from tests.web.history.versions import Caller
from tests.web.sessions.session_page import session_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def test_a_decided_write_says_by_whom_when_and_by_which_entry(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    act = Act(Actor.person(alice), Door.WEB, caller.at)
    done = decisions.approve(caller.store.pk, str(memory.head_id), act, earlier=0)
    page = session_page(bob).content.decode()
    assert "Alice approved this version" in page
    assert f'{reverse("entry", args=[caller.store.pk, done.seq])}">entry {done.seq}</a>' in page


def test_the_page_of_a_session_is_live_only_for_an_hour(caller: Caller, bob: User) -> None:
    caller.at = timezone.now() - timedelta(hours=2)
    caller.create("/a.md", "one\n")
    assert "data-tail=" not in session_page(bob).content.decode()
    caller.at = timezone.now() - timedelta(minutes=2)
    caller.create("/b.md", "one\n")
    assert "data-tail=" in session_page(bob).content.decode()


def test_the_menu_is_at_the_stores_as_the_breadcrumbs_are(caller: Caller, bob: User) -> None:
    caller.create("/a.md", "one\n")
    assert re.search(r'<a href="/stores" aria-current="true"', session_page(bob).content.decode())


def test_a_refused_call_says_why_in_plain_words_and_names_its_path(caller: Caller, bob: User) -> None:
    caller.create("/a.md", "one\n")
    caller.call("view", path="/memories/../etc/passwd")
    caller.call("view", path="/memories/none.md")
    caller.call("view", path="/elsewhere")
    caller.call("view", path="/memories/a.md", view_range=[7, 9])
    caller.call("str_replace", path="/memories/a.md", old_str="two\nthree", new_str="")
    page = re.sub(r"<[^>]*>", "", session_page(bob).content.decode())
    for told in (
        "The path /../etc/passwd would lead out of the memory store.",
        "There is nothing at /none.md.",
        "The path /elsewhere does not begin with /memories.",
        "The call named lines that the memory does not have.",
        "The text to replace is not there in exactly this form.",
    ):
        assert told in page, told
    assert "escape /memories" not in page
