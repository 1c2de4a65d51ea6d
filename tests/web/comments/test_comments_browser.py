"""Comments in a real browser: from a line to a resolved conversation, by keyboard, and at every width."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import Memory, MemoryStore, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def here(page: Page, live_server: LiveServer, alice: User, store: MemoryStore, key: str) -> str:
    """The address of a memory, for Alice, who has signed in."""
    memory: Memory = Caller(store, key).create("/policies.md", "# Policies\n\n- Ask first\n- Be kind\n- Be quick\n")
    sign_in_as(page.context, alice, live_server.url)
    return f"{live_server.url}/stores/{memory.store_id}/memories/{memory.pk}"


@pytest.mark.push
def test_from_a_line_to_a_resolved_conversation_by_keyboard(page: Page, here: str) -> None:
    page.goto(here)
    page.locator("#L3 > a").focus()
    press(page, "Enter")
    press(page, "Shift+ArrowDown")
    press(page, "Tab")
    expect(page.locator("#L4 .line-comment")).to_be_focused()
    press(page, "Enter")
    box = page.get_by_label("Comment on lines 3 to 4")
    expect(box).to_be_focused()
    page.keyboard.type("First ask, then be kind? See /policies.")
    press(page, "Tab")
    press(page, "Enter")
    thread = page.locator("#L4 .thread")
    expect(thread).to_contain_text("First ask, then be kind? See /policies.")
    thread.get_by_label("Reply").fill("Yes.")
    thread.get_by_role("button", name="Reply").click()
    expect(page.locator("#L4 .comment")).to_have_count(2)
    fits(page)
    axe(page)
    page.locator("#L4").get_by_role("button", name="Resolve").click()
    page.goto(here)
    folded = page.get_by_text("Resolved conversation by Alice: 2 comments")
    expect(folded).to_be_visible()
    expect(page.locator("#L4 .comment").first).to_be_hidden()
    folded.click()
    expect(page.locator("#L4 .comment").first).to_be_visible()


@pytest.mark.push
def test_a_name_is_chosen_and_whoever_has_it_is_told(
    page: Page, here: str, live_server: LiveServer, bob: User, alice: User
) -> None:
    page.goto(here)
    page.locator(".comment-new > summary").click()
    page.get_by_label("Comment on this memory").fill("Look,")
    page.locator(".comment-new").get_by_label("Tell somebody").select_option("Bob")
    box = page.get_by_label("Comment on this memory")
    expect(box).to_be_focused()
    expect(box).to_have_value("Look, @Bob ")
    page.keyboard.type("is it?")
    page.locator(".comment-new").get_by_role("button", name="Comment").click()
    expect(page.locator("#comments .comment")).to_contain_text("Look, @Bob is it?")
    sign_in_as(page.context, bob, live_server.url)
    page.goto(f"{live_server.url}/")
    row = page.get_by_role("region", name="For you")
    expect(row).to_contain_text("Alice mentioned you on /policies.md")
    fits(page)
    axe(page)
    row.get_by_role("button", name="Put away").click()
    expect(row).to_have_count(0)


def test_while_a_name_is_typed_after_an_at_sign_the_names_that_fit_are_listed(
    page: Page, here: str, bob: User, charlie: User
) -> None:
    page.goto(here)
    page.locator(".comment-new > summary").click()
    box, names = page.get_by_label("Comment on this memory"), page.locator(".tell-names")
    box.press_sequentially("To me@b, ")
    expect(names).to_have_count(0)
    box.press_sequentially("@b")
    expect(names.get_by_role("option")).to_have_text(["Bob (cannot answer)"])
    axe(page)
    press(page, "Enter")
    expect(box).to_have_value("To me@b, @Bob ")
    expect(names).to_have_count(0)
    box.press_sequentially("and @")
    press(page, "Escape")
    expect(names).to_have_count(0)
    expect(box).to_be_focused()
    press(page, "Enter")
    expect(box).to_have_value("To me@b, @Bob and @\n")
    box.press_sequentially("@")
    names.get_by_role("option", name="Bob").click()
    expect(box).to_have_value("To me@b, @Bob and @\n@Bob ")


@pytest.mark.long
def test_a_comment_on_the_whole_memory_is_changed_and_deleted(page: Page, here: str) -> None:
    page.goto(here)
    page.locator(".comment-new > summary").click()
    page.get_by_label("Comment on this memory").fill("Who keeps this?")
    page.locator(".comment-new").get_by_role("button", name="Comment").click()
    comment = page.locator("#comments .comment")
    expect(comment).to_contain_text("Who keeps this?")
    comment.get_by_text("Edit").click()
    comment.get_by_label("Comment").fill("Who keeps this, and why?")
    comment.get_by_role("button", name="Save").click()
    expect(comment).to_contain_text("and why?")
    comment.locator("summary", has_text="Delete").click()
    comment.get_by_role("button", name="Delete this comment for good").click()
    expect(page.locator("#comments .comment")).to_have_count(0)


@pytest.mark.long
def test_several_conversations_on_a_page_are_told_apart_by_screen_readers(page: Page, here: str) -> None:
    for line in (3, 4):
        page.goto(f"{here}?comment={line}")
        page.get_by_label(f"Comment on line {line}").fill("Why?")
        page.locator(".thread-form button", has_text="Comment").first.click()
    expect(page.locator(".thread")).to_have_count(2)
    axe(page)


@pytest.mark.push
def test_the_caret_is_in_the_box_that_is_opened_at_once(page: Page, here: str) -> None:
    page.goto(here)
    summary = page.locator(".comment-new > summary")
    summary.click()
    page.keyboard.type("Are these true?")
    box = page.get_by_label("Comment on this memory")
    expect(box).to_have_value("Are these true?")
    page.locator(".comment-new").get_by_role("button", name="Comment", exact=True).click()
    edit = page.locator(".comment-acts summary").first
    edit.focus()
    press(page, "Enter")
    page.keyboard.type(" Really?")
    expect(page.locator(".comment-acts textarea")).to_have_value("Are these true? Really?")
    assert page.url.partition("#")[0] == here
