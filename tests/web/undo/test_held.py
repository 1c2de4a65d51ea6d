"""An undo of which a legal hold forbids a part: that part is not offered, and the rest can be undone."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.rules.holds import place, release
from memoryhub.models import HoldKind, MemoryStore, Session, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.past import tree_now
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def bad(store: MemoryStore, key: str) -> Session:
    """A session that made, changed and moved memories."""
    caller = Caller(store, key, session="before")
    caller.create("/frozen.md", "one\n")
    caller.create("/moved.md", "one\n")
    caller.session = "bad"
    caller.create("/case/new.md", "poison\n")
    caller.create("/free.md", "poison\n")
    caller.replace("/frozen.md", "one", "poison")
    caller.call("rename", old_path="/memories/moved.md", new_path="/memories/case/moved.md")
    return Session.objects.get(name="bad")


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def hold(store: MemoryStore, path: str, *, freezes: bool = False) -> None:
    place(store.id, act(), kind=HoldKind.HOLD, reason="lawsuit 7", path=path, freezes=freezes)


@pytest.mark.both_databases
def test_what_a_hold_forbids_is_greyed_not_counted_and_stays(bad: Session, store: MemoryStore, curator: Client) -> None:
    hold(store, "/case")
    hold(store, "/frozen.md", freezes=True)
    url = reverse("undo_session", args=[store.id, bad.pk])
    page = curator.get(url)
    html = page.content.decode()
    assert page.context["preview"].counts == {"created": 0, "modified": 0, "moved": 0, "deleted": 1}
    greyed = re.findall(r'value="apply" data-effects="" disabled><span><b>([^<]*)<', html)
    assert greyed == ["Move it to /moved.md", "Move it to the trash", "Change it"]
    assert html.count("lawsuit 7") == html.count("The legal hold forbids this.") == 3
    assert html.count('value="keep" data-effects="" checked>') == 3 and "Undo changes in 1 memory" in html
    answer = curator.post(url, form_with(html, "digest"))
    assert answer.status_code == 303
    there = {path: text for path, (_, text) in tree_now(store).items()}
    assert there == {"/case/new.md": "poison\n", "/frozen.md": "poison\n", "/case/moved.md": "one\n"}


@pytest.mark.both_databases
@pytest.mark.parametrize("place", ["/case", "/case/moved.md", "/case/deep"])
def test_a_return_from_the_trash_that_leaves_a_held_directory_is_greyed_alone(
    store: MemoryStore, key: str, curator: Client, place: str
) -> None:
    caller = Caller(store, key, session="before")
    for path in ("/free.md", "/moved.md"):
        caller.create(path, "one\n")
    caller.session = "bad"
    target = "/case/deep/moved.md" if place == "/case/deep" else "/case/moved.md"
    caller.call("rename", old_path="/memories/moved.md", new_path=f"/memories{target}")
    for path in (target, "/free.md"):
        caller.call("delete", path=f"/memories{path}")
    hold(store, place)
    url = reverse("undo_session", args=[store.id, Session.objects.get(name="bad").pk])
    html = curator.get(url).content.decode()
    assert re.findall(r'value="apply" data-effects="" disabled><span><b>([^<]*)<', html) == ["Bring it back"]
    assert html.count("lawsuit 7") == 1 and "Undo changes in 1 memory" in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert set(tree_now(store)) == {"/free.md"}


def test_a_forged_choice_that_is_held_changes_nothing(bad: Session, store: MemoryStore, curator: Client) -> None:
    hold(store, "/case")
    url = reverse("undo_session", args=[store.id, bad.pk])
    html = curator.get(url).content.decode()
    memory = re.findall(r'name="choice-(mem_\w+)" value="apply"', html)[0]
    curator.post(url, form_with(html, "digest") | {f"choice-{memory}": "apply"})
    assert "/case/new.md" in tree_now(store)


def test_without_a_hold_nothing_is_greyed(bad: Session, store: MemoryStore, curator: Client) -> None:
    hold(store, "/elsewhere")
    html = curator.get(reverse("undo_session", args=[store.id, bad.pk])).content.decode()
    assert "The legal hold forbids this." not in html and "Undo changes in 4 memories" in html


def test_a_hold_that_came_or_went_after_the_preview_is_shown_before_anything_is_done(
    bad: Session, store: MemoryStore, curator: Client
) -> None:
    url, before = reverse("undo_session", args=[store.id, bad.pk]), tree_now(store)
    opened = form_with(curator.get(url).content.decode(), "digest")
    placed = place(store.id, act(), kind=HoldKind.HOLD, reason="lawsuit 7", path="/free.md")
    answer = curator.post(url, opened)
    assert answer.status_code == 200 and tree_now(store) == before
    html = answer.content.decode()
    assert "a legal hold or a rule has changed since you opened this page" in html and "lawsuit 7" in html
    release(store.id, placed.pk, act())
    again = curator.post(url, form_with(html, "digest"))
    assert again.status_code == 200 and tree_now(store) == before, "the page said that the memory stays"
    assert curator.post(url, form_with(again.content.decode(), "digest")).status_code == 303
    assert sorted(tree_now(store)) == ["/free.md", "/frozen.md", "/moved.md"], "left as it is, as the page then said"


def test_what_needs_the_path_of_a_memory_that_a_hold_keeps_is_left_out_too(
    store: MemoryStore, key: str, curator: Client
) -> None:
    caller = Caller(store, key, session="before")
    caller.create("/a.md", "first\n")
    caller.create("/free.md", "one\n")
    caller.session = "bad"
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    caller.create("/a.md", "second\n")
    caller.replace("/free.md", "one", "poison")
    hold(store, "/a.md")
    url = reverse("undo_session", args=[store.id, Session.objects.get(name="bad").pk])
    html = curator.get(url).content.decode()
    assert "Undo changes in 1 memory" in html and "A memory or a directory is already at /a.md." in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    there = {path: text for path, (_, text) in tree_now(store).items()}
    assert there == {"/a.md": "second\n", "/b.md": "first\n", "/free.md": "one\n"}
