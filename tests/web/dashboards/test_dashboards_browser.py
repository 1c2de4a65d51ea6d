"""The dashboards in a browser: sound in both themes and at every width, without a mouse, without scripts, on paper."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions import figures
from memoryhub.models import MemoryStore, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def worked(store: MemoryStore, key: str) -> MemoryStore:
    """A store with some weeks of work, of which the last hour has not been counted yet."""
    now = timezone.now()
    for ago in (40, 20, 9, 3, 1, 0):
        caller = Caller(store, key, at=now - timedelta(days=ago, hours=2))
        caller.create(f"/notes/of-day-{ago}-with-a-rather-long-name-that-has-to-go-somewhere.md", "one\n" * (ago + 1))
        caller.call("view", path="/memories")
        caller.call("view", path="/memories/nowhere.md")
        if ago:
            figures.catch_up()
    return store


def addresses(store: MemoryStore) -> list[str]:
    """With everything, and with nothing in some pictures; `test_browser_pages` has those without a query."""
    return ["/overview?range=all", f"/stores/{store.id}/overview?range=7&agent=agent_nobody"]


@pytest.mark.long
def test_the_dashboards_are_sound(page: Page, live_server: LiveServer, worked: MemoryStore, alice: User) -> None:
    sign_in_as(page.context, alice, live_server.url)
    for address in addresses(worked):
        page.goto(live_server.url + address)
        assert page.locator("h1").count() == 1
        for summary in page.locator(".picture-table > summary").all():
            summary.click()
        axe(page)
        fits(page)


@pytest.mark.long
def test_an_empty_dashboard_is_sound(page: Page, live_server: LiveServer, store: MemoryStore, charlie: User) -> None:
    sign_in_as(page.context, charlie, live_server.url)
    page.goto(live_server.url + "/overview")
    axe(page)


@pytest.mark.push
def test_the_table_and_what_it_links_to_are_reached_without_a_mouse(
    page: Page, live_server: LiveServer, worked: MemoryStore, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + f"/stores/{worked.id}/overview")
    page.locator("#operations summary").focus()
    press(page, "Enter")
    expect(page.locator("#operations table")).to_be_visible()
    for _ in range(3):
        press(page, "Tab")
    press(page, "Enter")
    expect(page).to_have_url(re.compile(r"/audit\?from="))
    expect(page.locator("tbody tr").first).to_be_visible()


def test_a_mark_of_a_picture_is_a_link(page: Page, live_server: LiveServer, worked: MemoryStore, alice: User) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + f"/stores/{worked.id}/overview")
    page.locator("#operations .chart-mark").last.click()
    expect(page).to_have_url(re.compile(r"/audit\?from=.*command=create"))


@pytest.mark.long
def test_everything_works_without_scripts(
    browser: Browser, live_server: LiveServer, worked: MemoryStore, alice: User
) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=live_server.url)
    sign_in_as(context, alice, live_server.url)
    page = context.new_page()
    page.goto("/overview")
    page.get_by_role("link", name="30 days").click()
    expect(page).to_have_url(re.compile("range=30"))
    page.get_by_label("Store", exact=True).select_option(label="Support")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(f"range=30&store={worked.id}"))
    page.locator("#operations summary").click()
    expect(page.locator("#operations table")).to_be_visible()
    with page.expect_download() as download:
        page.locator("#operations").get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename.startswith("figures-operations")
    context.close()


@pytest.mark.long
def test_on_paper_the_pictures_stay_and_the_controls_go(
    page: Page, live_server: LiveServer, worked: MemoryStore, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + f"/stores/{worked.id}/overview")
    page.emulate_media(media="print")
    expect(page.locator("#operations .chart-canvas")).to_be_visible()
    for gone in (".picture-export", ".dash-filter", ".picture-table"):
        expect(page.locator(gone).first).to_be_hidden()
