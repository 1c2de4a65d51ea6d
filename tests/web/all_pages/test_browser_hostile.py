"""Hostile text in a real browser: it stays text, what is hidden in it is shown, and large texts are quick."""

from collections.abc import Callable, Iterator
from math import inf
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Dialog, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.pure import sensitive
from tests.support.browser import Console, press, sign_in_as
from tests.support.durations import is_within, quickest
from tests.support.fixtures import signed_in
from tests.support.long import LONG, some
from tests.web.all_pages import hostile
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.browser

MANY = 10_000
WITHIN = 5.0  # seconds for a page that a person waits for; a tenth is usual

# What came alive: the flag that every payload sets, event handlers, attributes of htmx that are not ours, other hosts.
ALIVE = """(target) => {
  const found = window.hostile ? ["the flag is set"] : [];
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      const isLink = ["href", "src", "action", "formaction", "data", "srcset"].includes(name);
      if (/^on|^(data-)?hx-on/.test(name)) found.push(`${element.tagName} has ${name}`);
      else if (/^(data-)?hx-/.test(name) && value.includes(target)) found.push(`${element.tagName} has ${name}`);
      else if (isLink && /^\\s*(javascript|vbscript|data):/i.test(value)) found.push(`${name}=${value}`);
      else if (name === "style" && !element.closest(".cm-editor")) found.push(`${element.tagName} has style`);
    }
  }
  const strange = "iframe, base, object, embed, main :is(style, script:not([type=module]), img:not(.cm-widgetBuffer))";
  for (const element of document.querySelectorAll(strange)) found.push(element.outerHTML.slice(0, 80));
  return found;
}"""

# Where a hidden character reaches the reader as it is: in what is seen, and in what is read out or shown on hovering.
UNSEEN = """() => {
  const hidden = /[\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]/u;
  const found = hidden.test(document.title) ? ["title"] : [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (hidden.test(node.data) && !node.parentElement.closest("textarea, script, template, .cm-widgetBuffer"))
      found.push(`in ${node.parentElement.outerHTML.slice(0, 120)}`);
  }
  for (const name of ["title", "aria-label", "aria-description", "alt", "placeholder"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (hidden.test(element.getAttribute(name))) found.push(`${name} of ${element.outerHTML.slice(0, 120)}`);
    }
  }
  return found;
}"""


@pytest.fixture
def world(db: None) -> hostile.World:
    """A store in which every text is hostile."""
    return hostile.build()


@pytest.fixture
def desk(page: Page, live_server: LiveServer) -> Iterator[Page]:
    """A browser that notes what a page must never do: open a dialog, ask another host, send what a text asked for."""
    wrong: list[str] = []

    def hear(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != urlsplit(live_server.url).netloc:
            wrong.append(request.url)
        if hostile.TARGET in parts.path:
            wrong.append(request.url)

    def answer(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", hear)
    page.on("dialog", answer)
    yield page
    assert not wrong


def test_hostile_text_is_inert_on_every_page(
    desk: Page, console: Console, live_server: LiveServer, world: hostile.World
) -> None:
    """In the short form, on each third page."""
    sign_in_as(desk.context, world.person, live_server.url)
    found: dict[str, list[str]] = {}
    for address in some(hostile.pages(world), 3):
        response = desk.goto(live_server.url + address)
        assert response is not None
        assert response.status == 200, address
        found[address] = [*desk.evaluate(ALIVE, hostile.TARGET), *desk.evaluate(UNSEEN), *console.unexpected()]
        console.messages.clear()
    wrong = [f"{address}: {thing}" for address, things in found.items() for thing in things]
    assert not wrong, "\n".join(wrong)


@pytest.mark.push
def test_hidden_characters_are_boxes_with_a_name(desk: Page, live_server: LiveServer, world: hostile.World) -> None:
    sign_in_as(desk.context, world.person, live_server.url)
    memory = world.memory()
    for page in ("memory", "edit_memory", "compare"):
        desk.goto(live_server.url + reverse(page, kwargs={"store_id": world.store.id, "memory_id": memory.id}))
        box = desk.locator(".hidden-character", has_text="RLO").or_(desk.locator(".hidden-character", has_text="202E"))
        expect(box.first).to_be_visible()
        expect(box.first).to_have_attribute("title", "U+202E RIGHT-TO-LEFT OVERRIDE")


@pytest.mark.long
def test_the_search_for_hostile_text_is_inert(desk: Page, live_server: LiveServer, world: hostile.World) -> None:
    sign_in_as(desk.context, world.person, live_server.url)
    for address in ("/search", "/audit", "/people", f"/stores/{world.store.id}/audit"):
        desk.goto(live_server.url + address)
        desk.locator("main [name=q]").fill(hostile.TAGS + hostile.ESCAPES + hostile.HIDDEN)
        with desk.expect_navigation():
            press(desk, "Enter")
        assert desk.evaluate(ALIVE, hostile.TARGET) == [], address
        assert desk.evaluate(UNSEEN) == [], address


@pytest.mark.push
def test_hostile_text_survives_the_editor(desk: Page, live_server: LiveServer, world: hostile.World) -> None:
    sign_in_as(desk.context, world.person, live_server.url)
    memory = world.memory()
    before = Memory.objects.select_related("text").get(pk=memory.pk).text
    desk.goto(f"{live_server.url}{reverse('edit_memory', args=[world.store.id, memory.id])}")
    desk.locator(".cm-content").click()
    press(desk, "Control+Home")
    desk.keyboard.type("!")
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_be_visible()
    after = Memory.objects.select_related("text").get(pk=memory.pk).text
    assert before is not None
    assert after is not None
    assert after.content == "!" + before.content


def opened(client: Client, memory: Memory, page: str = "", query: str = "") -> Callable[[], object]:
    """Opens a page of the memory, which must answer."""

    def ask() -> None:
        assert client.get(f"/stores/{memory.store_id}/memories/{memory.id}{page}{query}").status_code == 200

    return ask


@pytest.mark.push
@pytest.mark.parametrize("query", [pytest.param("", marks=pytest.mark.long), "?view=rendered"])
def test_equal_lines_cost_no_more_than_different_ones(store: MemoryStore, alice: User, query: str) -> None:
    client = signed_in(alice)
    lines = MANY if LONG else MANY // 4
    equal = write(store, "/equal.md", "- same\n" * lines)
    different = write(store, "/different.md", "".join(f"- {number}\n" for number in range(lines)))
    spent = quickest(opened(client, equal, query=query))
    assert spent < 5 * quickest(opened(client, different, query=query))
    assert spent < WITHIN


COSTLY = {
    "equal lines": ("same\n" * MANY, "same\n" * (MANY // 2) + "other\n" + "same\n" * (MANY // 2)),
    "all lines other": ("same\n" * MANY, "other\n" * MANY),
    "few kinds of lines": ("a\nb\n" * (MANY // 2), "b\na\na\n" * (MANY // 3)),
    "one long line": ("x" * 100_000, "y" + "x" * 90_000 + "z"),
    "words of one line": ("a b " * 25_000, "b a " * 25_000),
    "hidden characters": ("\u202e\u200b" * 16_000, "\u200b\u202e" * 16_000),
    "brackets": ("[" * 100_000, "](" * 50_000),
    "marks": ("*_" * 50_000, "> " * 50_000),
}
PAGES = {
    "text": ("", ""), "rendered": ("", "?view=rendered"), "edit": ("/edit", ""),
    "compare": ("/compare", "?from=1&to=2"), "split": ("/compare", "?from=1&to=2&mode=split"),
    "spaces": ("/compare", "?from=1&to=2&w=1"),
}  # fmt: skip
SHORT = {
    "equal lines": "text compare", "all lines other": "edit split spaces", "few kinds of lines": "compare spaces",
    "one long line": "text rendered compare", "words of one line": "compare spaces",
    "hidden characters": "text edit compare", "brackets": "rendered", "marks": "rendered split",
}  # fmt: skip
"""The pages for which a text is costly: the short form opens these alone."""


@pytest.mark.push
@pytest.mark.parametrize("name", COSTLY)
def test_costly_texts_are_shown_and_compared_in_time(
    store: MemoryStore, alice: User, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitive, "STEPS", inf)  # such a text may have been saved in parts
    client = signed_in(alice)
    old, new = COSTLY[name]
    memory = write(store, "/costly.md", old)
    curation.edit(store.id, memory.id, new, memory.sha256, act())
    for page, query in (PAGES[one] for one in (PAGES if LONG else SHORT[name].split())):
        assert is_within(WITHIN, opened(client, memory, page, query)), (page, query)


@pytest.mark.push
@pytest.mark.parametrize("name", [pytest.param("all lines other", marks=pytest.mark.long), "one long line"])
def test_large_texts_are_drawn_without_widening_the_page(
    desk: Page, live_server: LiveServer, store: MemoryStore, alice: User, name: str
) -> None:
    sign_in_as(desk.context, alice, live_server.url)
    old, new = COSTLY[name]
    memory = write(store, "/large.md", old)
    curation.edit(store.id, memory.id, new, memory.sha256, act())
    desk.set_viewport_size({"width": 390, "height": 800})
    desk.set_default_timeout(60_000)
    for page in ("", "?view=rendered", "/edit", "/compare?from=1&to=2", "/compare?from=1&to=2&mode=split"):
        desk.goto(f"{live_server.url}/stores/{store.id}/memories/{memory.id}{page}")
        expect(desk.get_by_role("heading", level=1)).to_be_visible()
        assert desk.evaluate("document.documentElement.scrollWidth") <= 390, page
