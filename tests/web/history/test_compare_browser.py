"""Comparisons in a real browser: two handles choose the versions, and what was viewed is closed."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import Memory, MemoryStore, User
from tests.support.browser import axe, sign_in_as
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key)
    caller.create("/a.md", "one\n")
    for old, new in (("one", "two"), ("two", "three"), ("three", "four")):
        caller.replace("/a.md", old, new)
    caller.create("/b.md", "other\n")
    return caller


def test_the_handles_choose_the_versions_by_keys_and_keep_the_focus(
    page: Page, live_server: LiveServer, caller: Caller, store: MemoryStore, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    memory_id = Memory.objects.at("/a.md").get(store=store).pk
    page.goto(f"{live_server.url}/stores/{store.pk}/memories/{memory_id}/compare?from=1&to=2&mode=split")
    handle = page.get_by_role("slider", name="Second version")
    expect(handle).to_have_value("2")
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", level=1)).to_have_text("Version 1 → version 4")
    assert "mode=split" in page.url
    expect(handle).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", level=1)).to_have_text("Version 1 → version 3")
    axe(page)


@pytest.mark.push
def test_what_was_viewed_is_closed_and_counted(
    page: Page, live_server: LiveServer, caller: Caller, store: MemoryStore, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.pk}/changes?from=0")
    count = page.locator("[data-viewed-count]")
    expect(count).to_have_text("0 of 2 viewed")
    first = page.locator(".change", has_text="/a.md")
    expect(first.get_by_role("table")).to_be_visible()
    first.get_by_role("button", name="Viewed").click()
    expect(count).to_have_text("1 of 2 viewed")
    expect(first.get_by_role("table")).to_be_hidden()
    axe(page)
    page.reload()
    expect(count).to_have_text("1 of 2 viewed")
    first.get_by_role("button", name="Viewed").click()
    expect(count).to_have_text("0 of 2 viewed")
    expect(first.get_by_role("table")).to_be_visible()
