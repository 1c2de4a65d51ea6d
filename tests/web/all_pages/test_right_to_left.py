"""Names that are written from right to left: each path keeps the order of its names, wherever it is shown."""

import re
from collections.abc import Iterator

import pytest
from django.template import Context, Template
from django.urls import reverse
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.templatetags.visible import isolated, visible
from memoryhub.web.search.highlight import marked_path
from tests.support.browser import sign_in_as
from tests.support.fixtures import signed_in
from tests.support.long import some
from tests.web.all_pages.bare_ids import bare_ids
from tests.web.all_pages.right_to_left import renamed_demo, wrong_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

NAMES = ("ملاحظات", "תוכנית", "alpha", "خطة 2.md")
PATH = "/" + "/".join(NAMES)
HTML = "/<bdi>ملاحظات</bdi>/<bdi>תוכנית</bdi>/alpha/<bdi>خطة 2.md</bdi>"


def test_each_name_of_a_path_is_isolated_and_nothing_else() -> None:
    assert visible(PATH) == HTML
    assert visible(f"renamed {PATH} → /a/b.md") == f"renamed {HTML} → /a/b.md"
    assert visible("/notes/todo.md") == "/notes/todo.md"
    assert visible("שלום\nעולם") == "שלום\nעולם"
    assert visible("/<b>/א") == "/&lt;b&gt;/<bdi>א</bdi>"
    assert "<bdi>" in visible("/א\u202eב") and "\u202e" not in visible("/א\u202eב")


def test_a_title_isolates_by_characters_and_has_no_markup() -> None:
    assert isolated("Edit /א/b · MemoryHub") == "Edit /\u2068א\u2069/b · MemoryHub"
    title = Template("{% load visible %}{% filter plain|isolated %}{{ path }}{% endfilter %}").render(
        Context({"path": "/א\u202e/b"})
    )
    assert title == "/\u2068א\ufffd\u2069/b"


def test_what_is_found_by_its_path_is_isolated_with_its_marks() -> None:
    assert str(marked_path(PATH, ["תוכ", "alp"])) == (
        '<span class="found-directory">/<bdi>ملاحظات</bdi>/<bdi><mark>תוכ</mark>נית</bdi>/<mark>alp</mark>ha/</span>'
        "<bdi>خطة 2.md</bdi>"
    )
    assert str(marked_path("/a/b.md", ["a/b"])).count("<mark>") == 2


@pytest.fixture
def memory(store: MemoryStore, key: str) -> Memory:
    caller = Caller(store, key, session="run")
    memory = caller.create(PATH, "one\n")
    caller.replace(PATH, "one", "two")
    return memory


def addresses(memory: Memory) -> Iterator[str]:
    """Pages that show the whole path."""
    store = memory.store_id
    yield reverse("store_audit", args=[store])
    yield reverse("audit")
    yield reverse("review")
    yield reverse("versions", args=[store, memory.pk])
    yield reverse("memory", args=[store, memory.pk])
    yield reverse("undo_version", args=[store, memory.head_id])
    yield reverse("search") + "?q=two"
    yield reverse("trash", args=[store])


@pytest.mark.django_db
def test_pages_show_the_path_isolated(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    memory.refresh_from_db()
    for address in list(addresses(memory))[:6]:
        html = client.get(address).content.decode()
        main = re.sub(r"<title>.*?</title>", "", html, flags=re.DOTALL)
        assert "<bdi>" in main, address


@pytest.mark.django_db
def test_the_finder_the_palette_and_the_names_of_boxes_isolate_too(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    for address in (reverse("find", args=[memory.store_id]) + "?q=alpha", reverse("palette") + "?q=alpha"):
        assert "<bdi>ملاحظات</bdi>/<bdi>תוכנית</bdi>" in client.get(address).content.decode(), address
    curation.delete(memory.store_id, PATH, act())
    trash = client.get(reverse("trash", args=[memory.store_id])).content.decode()
    assert "/\u2068ملاحظات\u2069/\u2068תוכנית\u2069/alpha/" in trash


@pytest.mark.push
@pytest.mark.django_db
def test_every_page_isolates_every_name_that_is_written_from_right_to_left_and_shows_no_bare_id(
    superuser: User,
) -> None:
    """Paths, stores, agents, people, sessions, keys, policies, webhooks: by an element, in titles by characters. In the
    short form, on each eighth page."""
    client, wrong = signed_in(superuser), {}
    for name, address in some(renamed_demo(), 8):
        answer = client.get(address)
        assert answer.status_code == 200, (name, address)
        html = answer.content.decode()
        if found := [*wrong_in(html), *bare_ids(name, html)]:
            wrong[name] = found
    assert not wrong, "\n".join(f"{name}: {line}" for name, found in wrong.items() for line in found)


@pytest.mark.django_db
def test_the_name_in_the_sentence_that_something_was_done_is_isolated(alice: User, superuser: User) -> None:
    made = signed_in(superuser).post(reverse("new_store"), {"name": "מאגר"}, follow=True)
    assert "The memory store “\u2068מאגר\u2069” was created." in made.content.decode()
    assert not list(wrong_in(made.content.decode()))


@pytest.mark.push
@pytest.mark.browser
def test_the_names_of_a_path_are_seen_in_their_order(
    page: Page, live_server: LiveServer, memory: Memory, alice: User
) -> None:
    memory.refresh_from_db()
    sign_in_as(page.context, alice, live_server.url)
    seen = (
        "link => [...link.querySelectorAll('bdi')].map(name => [name.textContent, name.getBoundingClientRect().left])"
    )
    for address in list(addresses(memory))[:3]:
        page.goto(live_server.url + address)
        link = page.locator("a", has_text="alpha").first
        places = link.evaluate(seen)
        assert [name for name, _ in sorted(places, key=lambda place: place[1])] == [NAMES[0], NAMES[1], NAMES[3]]
