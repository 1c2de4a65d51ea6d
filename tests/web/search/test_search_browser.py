"""Finding in a real browser: by the keyboard alone, with late answers, without script; and axe finds nothing."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.web.search import search
from memoryhub.web.search.finder import cache
from tests.support.browser import Console, axe, fits, press, sign_in_as
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.forget_all()


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    """One of some memories, of two versions."""
    for number in range(12):
        write(store, f"/tickets/{number}.md", f"# Ticket {number}\n\nwants a refund\n")
    made = write(store, "/policies/refunds.md", "# Policies\n\n- a refund within 30 days\n" + "- more\n" * 50)
    curation.edit(store.id, made.id, made.text.content.replace("30", "14"), made.sha256, act())
    made.refresh_from_db()
    return made


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, memory: Memory) -> Page:
    """A browser in which Alice looks at the store."""
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + reverse("store", args=[memory.store_id]))
    page.wait_for_load_state("load")
    return page


def test_a_memory_is_opened_through_the_palette_by_keys_alone(desk: Page, memory: Memory) -> None:
    press(desk, "Control+k")
    field = desk.get_by_role("combobox")
    expect(field).to_be_focused()
    desk.keyboard.type("pol refu")
    option = desk.get_by_role("option", name="/policies/refunds.md")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", str(option.get_attribute("id")))
    press(desk, "Enter")
    desk.wait_for_url(re.compile(f"/memories/{memory.id}$"))


@pytest.mark.push
def test_the_palette_moves_closes_and_gives_the_focus_back(desk: Page) -> None:
    before = desk.get_by_role("link", name="New memory")
    before.focus()
    press(desk, "Control+k")
    desk.keyboard.type("1")
    options = desk.get_by_role("option")
    expect(options.nth(2)).to_be_visible()
    press(desk, "ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    press(desk, "ArrowUp")
    press(desk, "ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    press(desk, "Escape")
    expect(desk.locator("#palette")).not_to_be_visible()
    expect(before).to_be_focused()


@pytest.mark.push
def test_actions_of_the_page_are_in_the_palette(desk: Page, memory: Memory) -> None:
    desk.goto(desk.url.rsplit("/", 1)[0] + f"/memories/{memory.id}")
    press(desk, "Control+k")
    desk.keyboard.type("edit")
    desk.get_by_role("group", name="Actions").get_by_role("option", name="Edit").wait_for()
    press(desk, "ArrowUp")
    desk.get_by_role("group", name="Actions").get_by_role("option", name="Edit").click()
    desk.wait_for_url(re.compile("/edit$"))


@pytest.mark.push
def test_t_finds_paths_alone(desk: Page, memory: Memory) -> None:
    press(desk, "t")
    expect(desk.get_by_role("combobox", name="Find a path")).to_be_focused()
    desk.keyboard.type("ticket 11")
    expect(desk.get_by_role("option")).to_have_count(1)
    press(desk, "Enter")
    expect(desk.locator("h1")).to_have_text("11.md")


@pytest.mark.push
def test_an_answer_that_comes_too_late_is_dropped(desk: Page) -> None:
    held: list[Route] = []
    desk.route(re.compile(r"q=tic$"), lambda route: held.append(route))  # noqa: PLW0108 (Playwright cannot wrap a built-in)
    press(desk, "t")
    desk.keyboard.type("tic")
    desk.wait_for_timeout(200)
    desk.keyboard.type("kets 7")
    expect(desk.get_by_role("option")).to_have_count(1)
    assert held
    held[0].continue_()
    desk.wait_for_timeout(300)
    expect(desk.get_by_role("option")).to_have_count(1)


@pytest.mark.long
def test_the_finders_page_follows_what_is_typed(desk: Page, memory: Memory, live_server: LiveServer) -> None:
    desk.goto(live_server.url + reverse("find", args=[memory.store_id]))
    expect(desk.get_by_role("searchbox", name="Parts of a path")).to_be_focused()
    desk.keyboard.type("REFUNDS")
    link = desk.get_by_role("link", name="/policies/refunds.md")
    expect(link).to_be_visible()
    expect(desk).to_have_url(re.compile(r"q=REFUNDS$"))
    press(desk, "ArrowDown")
    expect(link).to_be_focused()
    press(desk, "ArrowUp")
    press(desk, "Enter")
    desk.wait_for_url(re.compile(f"/memories/{memory.id}$"))


@pytest.mark.push
def test_a_search_from_the_one_box_leads_to_the_line(desk: Page, memory: Memory) -> None:
    press(desk, "/")
    expect(desk.get_by_role("combobox", name="Search or go to")).to_be_focused()
    desk.keyboard.type("within 14")
    expect(desk.get_by_role("option", name="Search memories of Support for “within 14”")).to_be_visible()
    press(desk, "Control+Enter")
    expect(desk.get_by_text("1 memory found.")).to_be_visible()
    desk.locator(".excerpt-found a").focus()
    press(desk, "Enter")
    desk.wait_for_url(re.compile(f"/memories/{memory.id}#L3$"))


def test_a_long_search_fills_the_page_by_itself(
    desk: Page, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_HITS", 1)
    monkeypatch.setattr(search, "SECONDS", 0)
    desk.goto(live_server.url + "/search?q=refund")
    expect(desk.get_by_text("13 memories found.")).to_be_visible()
    expect(desk.locator(".found-memory")).to_have_count(13)
    expect(desk.get_by_role("progressbar")).to_have_count(0)


@pytest.mark.long
def test_a_search_can_be_stopped_and_goes_on(
    desk: Page, console: Console, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.expect("htmx:sendAbort", "htmx:afterRequest")
    monkeypatch.setattr(search, "FIRST_HITS", 1)
    desk.route(re.compile(r"/search\?.*at=[^&]*$"), lambda route: None)  # an answer that does not come
    desk.goto(live_server.url + "/search?q=refund")
    desk.get_by_role("link", name="Stop").click()
    go_on = desk.get_by_role("link", name="Go on")
    expect(go_on).to_be_visible()
    desk.unroute_all()
    go_on.click()
    expect(desk.get_by_text("13 memories found.")).to_be_visible()
    expect(desk.locator(".found-memory")).to_have_count(13)


@pytest.mark.long
def test_searching_works_without_script(
    browser: Browser, live_server: LiveServer, alice: User, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    monkeypatch.setattr(search, "FIRST_HITS", 5)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    sign_in_as(context, alice, live_server.url)
    page = context.new_page()
    page.goto(live_server.url)
    page.get_by_role("link", name="Search or go to…").click()
    page.get_by_role("searchbox", name="Parts of a name").fill("refund")
    press(page, "Enter")
    page.get_by_role("link", name="Search memories for “refund”").click()
    expect(page.locator(".found-memory")).to_have_count(5)
    page.get_by_role("link", name="Go on").click()
    expect(page.locator(".found-memory")).to_have_count(8)
    page.goto(live_server.url + reverse("find", args=[memory.store_id]))
    page.get_by_role("searchbox", name="Parts of a path").fill("refunds")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="/policies/refunds.md").click()
    expect(page.locator("h1")).to_have_text("refunds.md")
    page.get_by_role("link", name="Search or go to…").click()
    page.get_by_role("searchbox", name="Parts of a name").fill("tickets/7")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("link", name="/tickets/7.md")).to_be_visible()
    context.close()


@pytest.mark.long
def test_axe_finds_nothing_where_one_finds_things(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    """In the states in which `test_browser_pages` does not see these pages."""
    store = memory.store_id
    for address in (
        "/search?q=30&versions=all&trash=yes", "/search?q=a&in=x", f"/stores/{store}/find",
        f"/stores/{store}/find?q=zzzz", "/palette?q=zzz",
    ):  # fmt: skip
        desk.goto(live_server.url + address)
        axe(desk)
        fits(desk)


@pytest.mark.long
def test_axe_finds_nothing_in_the_palette(desk: Page) -> None:
    press(desk, "Control+k")
    axe(desk)
    desk.keyboard.type("t")
    expect(desk.get_by_role("option").nth(3)).to_be_visible()
    axe(desk)
    desk.keyboard.type("zzz")
    expect(desk.get_by_text("Nothing has this name.")).to_be_visible()
    axe(desk)


def test_a_filter_is_typed_completed_negated_and_removed_by_keys_alone(
    desk: Page, live_server: LiveServer, memory: Memory
) -> None:
    desk.goto(f"{live_server.url}/search")
    field = desk.locator("#filter-words")
    expect(field).to_be_focused()
    desk.keyboard.type("refund in /po")
    option = desk.get_by_role("option", name="/policies")
    expect(option).to_be_visible()
    press(desk, "ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", str(option.get_attribute("id")))
    axe(desk)
    press(desk, "Enter")
    expect(field).to_have_value("refund in /policies ")
    press(desk, "Enter")
    expect(desk.get_by_text("1 memory found.")).to_be_visible()
    expect(desk.get_by_role("list", name="Active filters")).to_be_focused()
    expect(desk.get_by_role("list", name="Active filters")).to_have_css("outline-style", "none")
    press(desk, "Tab")
    press(desk, "Enter")
    expect(desk.get_by_text("12 memories found.")).to_be_visible()
    expect(field).to_have_value("refund")
    axe(desk)
    desk.get_by_role("link", name="Remove the filter Path: /policies").focus()
    press(desk, "Enter")
    expect(desk.get_by_text("13 memories found.")).to_be_visible()
    press(desk, "F")
    expect(field).to_be_focused()
