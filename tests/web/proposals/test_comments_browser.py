"""Comments on a proposal in a real browser: by keys from a line to the refusal that publishes them."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import Comment, MemoryStore, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.web.proposals.proposing import begun, replaces, state, url_of

pytestmark = pytest.mark.browser


def test_lines_are_commented_on_by_keys_and_published_with_the_refusal(
    page: Page, live_server: LiveServer, alice: User, bob: User, store: MemoryStore, key: str
) -> None:
    replaces(begun(store, key, "/policies/refunds.md"), "/policies/refunds.md", "two", "2")
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}{url_of(store)}")
    lines = page.locator(".diff-line")
    lines.first.focus()
    press(page, "ArrowDown")
    expect(lines.nth(1)).to_be_focused()
    press(page, "Enter")
    expect(page.get_by_role("textbox", name="Comment on the removed line 2")).to_be_focused()
    page.keyboard.type("Why not keep the word? ")
    page.locator(".diff-below").get_by_label("Tell somebody").select_option("Bob")
    fits(page)
    axe(page)
    page.get_by_label("Comment on line 2", exact=True).click()
    page.get_by_role("textbox", name="Comment on line 2").fill("A number?")
    expect(page.get_by_role("textbox", name="Comment on the removed line 2")).to_have_value(
        "Why not keep the word? @Bob"
    )
    assert not Comment.objects.exists()
    page.locator(".proposal-refuse > summary").click()
    page.get_by_label("Why?").fill("Style")
    press(page, "Enter")
    expect(page.get_by_text("Refused proposal #1.")).to_be_visible()
    assert state(store) == ("refused", "Style")
    page.goto(f"{live_server.url}{url_of(store)}")
    expect(page.locator(".diff-below")).to_have_count(2)
    fits(page)
    axe(page)
    page.locator(".diff-below").first.get_by_role("link", name="Answer").click()
    page.get_by_label("Reply").fill("Agreed.")
    page.get_by_role("button", name="Reply").click()
    expect(page.locator(".comment")).to_have_count(2)
