"""The note of a decision, and the way to all changes of a memory and back, by keys."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import Comment, Memory, MemoryStore, Review, User
from tests.support.browser import axe, press, sign_in_as
from tests.support.write_guard import arranging
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def made(store: MemoryStore, key: str) -> list[Memory]:
    """Three memories that an agent wrote in one session, the second in two versions."""
    caller = Caller(store, key, session="run-1")
    memories = [caller.create(f"/{name}.md", f"{name}\n") for name in ("a", "b", "c")]
    caller.replace("/b.md", "b", "bee")
    return memories


def opened(page: Page, live_server: LiveServer, user: User) -> Page:
    sign_in_as(page.context, user, live_server.url)
    page.goto(f"{live_server.url}/review")
    page.wait_for_load_state("load")
    return page


def has_focus(page: Page, path: str) -> None:
    expect(page.locator("[data-review-item]:focus-within h3")).to_have_text(path)


def note(page: Page, path: str) -> str:
    return page.locator("[data-review-item]", has_text=path).first.get_by_label("Note").input_value()


@pytest.mark.parametrize("leave", ["Enter", pytest.param("Escape", marks=pytest.mark.long)])
def test_a_note_is_written_by_key_and_enter_and_escape_only_leave_it(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User, leave: str
) -> None:
    inbox = opened(page, live_server, alice)
    press(inbox, "j", "N")
    inbox.keyboard.type("Nobody asked for it")
    press(inbox, leave)
    has_focus(inbox, "/a.md")
    assert note(inbox, "/a.md") == "Nobody asked for it"
    assert Review.objects.count() == 0
    press(inbox, "r")
    line = inbox.locator(".review-decided")
    expect(line).to_contain_text("Reverted version 1 of /a.md. “Nobody asked for it”")
    assert Review.objects.get().note == "Nobody asked for it"
    has_focus(inbox, "/b.md")


@pytest.mark.push
def test_enter_in_a_note_decides_nothing_without_script(
    browser: Browser, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    context = browser.new_context(java_script_enabled=False)
    inbox = opened(context.new_page(), live_server, alice)
    field = inbox.get_by_label("Note").first
    field.fill("Nobody asked for it")
    field.press("Enter")
    inbox.wait_for_timeout(300)
    assert Review.objects.count() == 0
    expect(field).to_have_value("Nobody asked for it")
    context.close()


@pytest.mark.push
def test_a_decision_about_all_changes_goes_on_at_the_next_row_of_the_inbox(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    inbox = opened(page, live_server, alice)
    press(inbox, "j", "j")
    has_focus(inbox, "/b.md")
    press(inbox, "D")
    expect(inbox.get_by_role("heading", level=1)).to_contain_text("2 changes, none of them approved yet")
    inbox.get_by_role("link", name="Split").click()
    inbox.wait_for_url("**mode=split**")
    press(inbox, "a")
    inbox.wait_for_url("**/review")
    expect(inbox.locator(".banner")).to_contain_text("Approved version 2 of /b.md and 1 earlier version.")
    has_focus(inbox, "/c.md")
    press(inbox, "Enter")
    inbox.wait_for_url("**/versions/**")
    press(inbox, "g", "r")
    inbox.wait_for_url("**/review")
    has_focus(inbox, "/c.md")


def test_a_note_that_is_written_before_the_flag_is_the_note_of_the_flag(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    inbox = opened(page, live_server, alice)
    press(inbox, "j", "N")
    inbox.keyboard.type("Mina, is this true?")
    press(inbox, "Enter", "f")
    field = inbox.get_by_label("What is wrong").first
    expect(field).to_be_focused()
    expect(field).to_have_value("Mina, is this true?")
    press(inbox, "Enter")
    expect(inbox.locator("[data-review-item]").first).to_contain_text("flagged this memory")
    assert Review.objects.get().note == "Mina, is this true?"


@pytest.mark.push
def test_the_focus_stays_on_another_version_of_a_memory_whose_version_was_decided(
    page: Page, live_server: LiveServer, made: list[Memory], store: MemoryStore, key: str, alice: User
) -> None:
    caller = Caller(store, key, session="run-1")
    caller.create("/d.md", "d\n")
    caller.replace("/d.md", "d", "dee")
    inbox = opened(page, live_server, alice)
    versions = inbox.locator("[data-review-item]", has_text="/d.md")
    versions.first.locator("h3 a").focus()
    expect(versions.last).to_contain_text("1 earlier version")
    press(inbox, "a")
    expect(versions).to_have_count(1)
    expect(versions).not_to_contain_text("1 earlier version")
    inbox.wait_for_timeout(300)
    has_focus(inbox, "/d.md")


@pytest.mark.push
def test_the_agent_is_told_the_note_in_place(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    inbox = opened(page, live_server, alice)
    second = inbox.locator("[data-review-item]", has_text="/b.md").filter(has_text="version 2")
    second.get_by_label("Note").fill("Bees are animals")
    second.get_by_role("button", name="Revert").click()
    line = inbox.locator(".review-decided")
    expect(line).to_contain_text("The agent does not see the note.")
    axe(inbox)
    line.get_by_role("button", name="Tell Support bot").press("Enter")
    expect(line.get_by_text("Support bot reads this when it next views the memory.")).to_be_focused()
    expect(inbox.locator("[data-review-item]")).not_to_have_count(0)
    assert Comment.objects.get().waits


@pytest.mark.push
def test_a_tick_beside_the_note_tells_the_agent_with_the_decision(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    inbox = opened(page, live_server, alice)
    second = inbox.locator("[data-review-item]", has_text="/b.md").filter(has_text="version 2")
    second.get_by_label("Note").fill("Bees are animals")
    second.get_by_label("Tell the agent Support bot").check()
    axe(inbox)
    second.get_by_role("button", name="Revert").click()
    line = inbox.locator(".review-decided")
    expect(line).to_contain_text("Support bot reads the note when it next views the memory.")
    assert Comment.objects.get().waits


@pytest.mark.push
def test_the_words_of_the_note_follow_the_tick_that_tells_the_agent(
    page: Page, live_server: LiveServer, made: list[Memory], alice: User
) -> None:
    inbox = opened(page, live_server, alice)
    first = inbox.locator("[data-review-item]").first
    note, tick = first.get_by_label("Note"), first.locator(".tell-agent input")
    expect(note).to_have_attribute("placeholder", "Note (optional)")
    tick.check()
    expect(note).to_have_attribute("placeholder", "Note for colleagues and the agent")
    tick.uncheck()
    expect(note).to_have_attribute("placeholder", "Note for colleagues (optional)")


@pytest.mark.push
@pytest.mark.parametrize("touch", [False, True])
def test_the_keys_of_the_inbox_are_named_on_it_but_not_on_a_touch_screen(
    browser: Browser, live_server: LiveServer, made: list[Memory], alice: User, touch: bool
) -> None:
    context = browser.new_context(has_touch=touch, is_mobile=touch)
    inbox = opened(context.new_page(), live_server, alice)
    keys = inbox.get_by_text("next, previous")
    expect(keys).to_be_visible(visible=not touch)
    with arranging():
        User.objects.filter(pk=alice.pk).update(single_keys=False)
    inbox.reload()
    expect(keys).to_be_hidden()
    context.close()
