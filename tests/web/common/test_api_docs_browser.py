"""The page of the API in a browser: everything on it comes from the hub, and requests can be tried on it."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.api.harness import Hub, new_hub
from tests.support.browser import Console, axe

pytestmark = pytest.mark.browser


@pytest.fixture
def shown(page: Page, live_server: LiveServer) -> Hub:
    hub = new_hub()
    page.goto(live_server.url + "/api/docs")
    return hub


@pytest.mark.push
def test_the_document_is_drawn_beneath_the_title_of_the_page(page: Page, console: Console, shown: Hub) -> None:
    expect(page.locator("#operations-Memory_stores-retrieve_memory_store")).to_be_visible()
    expect(page.locator(".info .description")).to_contain_text("x-should-retry: false")
    expect(page.locator("h1")).to_have_count(1)
    assert not console.unexpected(), console.unexpected()


@pytest.mark.long
def test_a_request_is_tried_with_a_key(page: Page, console: Console, live_server: LiveServer, shown: Hub) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("button", name="Authorize").first.click()
    page.locator("#auth-bearer-value").fill(shown.secret)
    page.locator(".auth-container").first.get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").first.get_by_role("button", name="Close").click()
    operation = page.locator("#operations-Memory_stores-retrieve_memory_store")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_placeholder("memory_store_id").fill(shown.store.id)
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .microlight").first).to_contain_text(shown.store.name)
    axe(page)
    assert all(url.startswith(live_server.url) for url in asked), asked
    assert not console.unexpected(), console.unexpected()
