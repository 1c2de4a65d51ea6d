"""The live tail in a real browser: new entries come by themselves, and nothing jumps under somebody who reads."""

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import MemoryStore, Session, User
from tests.support.browser import Console, axe, press, sign_in_as
from tests.web.memories.pages import write

pytestmark = pytest.mark.browser

PATHS = "#audit-list tbody .mono"
ASKED = re.compile(r"/audit/new\?")


@pytest.fixture
def tail(page: Page, live_server: LiveServer, alice: User, store: MemoryStore) -> Page:
    """Alice looks at the audit of her store, on a clock that the test moves."""
    for number in range(30):
        write(store, f"/old/{number}.md", "")
    sign_in_as(page.context, alice, live_server.url)
    page.clock.install()
    page.goto(f"{live_server.url}/stores/{store.id}/audit?command=create")
    expect(page.locator(".tail")).to_have_attribute("data-now", "live")
    page.mouse.move(5, 5)
    return page


def wait(page: Page, seconds: int = 5) -> None:
    page.clock.run_for(seconds * 1000)


def test_new_entries_come_in_at_the_top(tail: Page, store: MemoryStore) -> None:
    write(store, "/new/a.md")
    write(store, "/new/b.md")
    wait(tail)
    expect(tail.locator(PATHS).first).to_have_text("/new/b.md")
    expect(tail.locator(PATHS).nth(1)).to_have_text("/new/a.md")
    write(store, "/new/c.md")
    wait(tail)
    expect(tail.locator(PATHS).first).to_have_text("/new/c.md")
    expect(tail.locator(PATHS)).to_have_count(33)
    axe(tail)


@pytest.mark.push
def test_nothing_moves_under_somebody_who_has_scrolled(tail: Page, store: MemoryStore) -> None:
    tail.mouse.wheel(0, 900)
    tail.wait_for_function("scrollY > 400")
    place = tail.evaluate("scrollY")
    write(store, "/new/a.md")
    wait(tail)
    link = tail.get_by_role("link", name="Show 1 new")
    expect(link).to_be_in_viewport()
    write(store, "/new/b.md")
    wait(tail)
    link = tail.get_by_role("link", name="Show 2 new")
    expect(link).to_be_visible()
    assert tail.evaluate("scrollY") == place
    expect(tail.locator(PATHS).first).to_have_text("/old/29.md")
    axe(tail)
    late: list[Route] = []

    def hold(route: Route) -> None:
        """What is asked before the click is answered after it, with the same rows once more."""
        late.append(route)

    tail.route(ASKED, hold)
    with tail.expect_request(ASKED):
        wait(tail)
    link.click()
    expect(tail.locator(PATHS).first).to_have_text("/new/b.md")
    expect(tail.locator("#audit-list tbody .row-link").first).to_be_focused()
    expect(tail.locator("#audit-list tbody tr").first).to_be_in_viewport()
    expect(link).not_to_be_visible()
    with tail.expect_response(ASKED):
        late[0].continue_()
    tail.unroute(ASKED)
    wait(tail, 10)
    expect(tail.locator(PATHS)).to_have_count(32)
    expect(link).not_to_be_visible()


@pytest.mark.push
def test_the_focus_stays_where_it_is(tail: Page, store: MemoryStore) -> None:
    for _ in range(3):
        press(tail, "j")
    chosen = tail.locator("#audit-list tbody .row-link").nth(2)
    expect(chosen).to_be_focused()
    write(store, "/new/a.md")
    wait(tail)
    expect(tail.get_by_role("link", name="Show 1 new")).to_be_visible()
    expect(chosen).to_be_focused()
    expect(tail.locator(PATHS)).to_have_count(30)


@pytest.mark.long
def test_it_pauses_and_goes_on(tail: Page, store: MemoryStore) -> None:
    tail.get_by_role("button", name="Pause").click()
    tail.mouse.move(5, 5)
    write(store, "/new/a.md")
    wait(tail, 20)
    expect(tail.get_by_text("Paused")).to_be_visible()
    expect(tail.locator(PATHS)).to_have_count(30)
    tail.get_by_role("button", name="Resume").click()
    tail.mouse.move(5, 5)
    wait(tail)
    expect(tail.locator(PATHS).first).to_have_text("/new/a.md")


@pytest.mark.push
def test_a_hidden_page_does_not_ask(tail: Page, store: MemoryStore) -> None:
    asked: list[str] = []
    tail.on("request", lambda request: asked.append(request.url))
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    tail.evaluate(hide, True)
    wait(tail, 30)
    assert asked == []
    write(store, "/new/a.md")
    tail.evaluate(hide, False)
    wait(tail, 1)
    expect(tail.locator(PATHS).first).to_have_text("/new/a.md")


@pytest.mark.long
def test_it_asks_less_often_while_there_is_no_answer(tail: Page, console: Console, store: MemoryStore) -> None:
    console.expect("ERR_INTERNET_DISCONNECTED", "ERR_FAILED")
    asked: list[str] = []
    tail.context.set_offline(True)
    tail.on("request", lambda request: asked.append(request.url))
    for _ in range(12):
        wait(tail)
        tail.wait_for_timeout(50)
    expect(tail.get_by_text("No connection")).to_be_visible()
    assert 2 <= len(asked) <= 5
    tail.context.set_offline(False)
    write(store, "/new/a.md")
    for _ in range(12):
        wait(tail, 10)
        tail.wait_for_timeout(50)
    expect(tail.locator(PATHS).first).to_have_text("/new/a.md")
    expect(tail.get_by_text("Live")).to_be_visible()


@pytest.mark.long
def test_the_audit_of_everything_says_how_many_are_new(
    page: Page, live_server: LiveServer, alice: User, store: MemoryStore
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.clock.install()
    page.goto(f"{live_server.url}/audit")
    expect(page.locator(".tail")).to_have_attribute("data-now", "live")
    write(store, "/new/a.md")
    wait(page)
    link = page.get_by_role("link", name=re.compile("Show 1 new"))
    expect(link).to_be_visible()
    axe(page)
    link.click()
    expect(page.locator(PATHS).first).to_have_text("/new/a.md")
    for width in (1440, 390):  # in the last line of the filter, without a band of its own
        page.set_viewport_size({"width": width, "height": 900})
        pill, bar = page.locator(".tail").bounding_box(), page.locator(".saved-filter").bounding_box()
        assert pill and bar and bar["y"] < pill["y"] < bar["y"] + bar["height"] and pill["width"] < 200


@pytest.mark.long
def test_the_page_of_a_session_leads_to_its_new_calls(
    page: Page, live_server: LiveServer, alice: User, store: MemoryStore, key: str
) -> None:
    def call(number: int, **input: str) -> None:
        body = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": input}
        headers = {"x-api-key": key, "memoryhub-session": "nightly"}
        address = f"/v1/memory_stores/{store.id}/tool_calls"
        assert Client().post(address, body, content_type="application/json", headers=headers).status_code == 200

    call(1, command="create", path="/memories/a.md", file_text="a\n")
    sign_in_as(page.context, alice, live_server.url)
    page.clock.install()
    page.goto(f"{live_server.url}/sessions/{Session.objects.get().id}")
    expect(page.locator(".tail")).to_have_attribute("data-now", "live")
    write(store, "/of/somebody/else.md")
    call(2, command="view", path="/memories/a.md")
    wait(page)
    link = page.get_by_role("link", name="Show 1 new")
    expect(link).to_be_visible()
    axe(page)
    link.click()
    expect(page.locator(".story .timeline-item")).to_have_count(1)
    expect(page.locator(".story")).to_contain_text("read")
