"""What somebody types survives a closed tab: offered to the same person on the same browser, never put in by itself."""

import json

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from tests.support.browser import axe, press, sign_in_as
from tests.web.memories.pages import act, text_of, write

pytestmark = pytest.mark.browser

TEXT = "one\ntwo\nthree\n"
DAY = 24 * 3600 * 1000
KEYS = "Object.keys(localStorage).filter((key) => key.startsWith('memoryhub:draft:'))"


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    return write(store, "/a.md", TEXT)


@pytest.fixture
def edit_url(live_server: LiveServer, memory: Memory) -> str:
    return f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit"


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User) -> Page:
    """Alice's browser."""
    sign_in_as(page.context, alice, live_server.url)
    return page


def type_text(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    press(page, "Control+a")
    page.keyboard.insert_text(text)


def expect_no_drafts(page: Page) -> None:
    page.wait_for_load_state("load")
    assert page.evaluate(KEYS) == []


def left_with_a_draft(desk: Page, url: str, text: str = "typed\n") -> None:
    """Types in the editor and closes the tab at once."""
    desk.goto(url)
    type_text(desk, text)
    desk.goto("about:blank")


def test_a_draft_is_offered_on_return_and_restored_when_asked_for(desk: Page, edit_url: str, memory: Memory) -> None:
    left_with_a_draft(desk, edit_url)
    desk.goto(edit_url)
    banner = desk.locator(".draft-offer")
    expect(banner).to_contain_text("You have an unsaved draft from 1 minute ago.")
    expect(desk.locator("textarea[name=text]")).to_have_value(TEXT)
    axe(desk)
    banner.get_by_role("button", name="Restore").click()
    expect(desk.locator("textarea[name=text]")).to_have_value("typed\n")
    expect(desk.locator(".cm-content")).to_be_focused()
    expect(banner).not_to_be_visible()
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_contain_text("typed")
    expect_no_drafts(desk)
    assert text_of(memory) == "typed\n"


@pytest.mark.long
def test_a_draft_is_compared_and_discarded(desk: Page, edit_url: str) -> None:
    left_with_a_draft(desk, edit_url, "one\nTWO\nthree\n")
    desk.goto(edit_url)
    expect(desk.locator(".cm-content").last).to_be_visible()
    desk.get_by_role("button", name="Compare").click()
    expect(desk.get_by_label("Your draft")).to_contain_text("TWO")
    expect(desk.locator(".draft-compared .cm-changedLine")).to_have_count(2)
    axe(desk)
    desk.get_by_role("button", name="Compare").click()
    expect(desk.locator(".draft-compared")).to_have_count(0)
    desk.get_by_role("button", name="Discard").click()
    expect(desk.locator(".draft-offer")).to_have_count(0)
    expect_no_drafts(desk)


@pytest.mark.long
def test_typing_on_without_an_answer_overwrites_no_draft(desk: Page, edit_url: str) -> None:
    left_with_a_draft(desk, edit_url, "first\n")
    left_with_a_draft(desk, edit_url, "second\n")
    desk.goto(edit_url)
    assert len(desk.evaluate(KEYS)) == 2
    desk.get_by_role("button", name="Discard").click()
    desk.get_by_role("button", name="Restore").click()
    expect(desk.locator("textarea[name=text]")).to_have_value("first\n")


@pytest.mark.push
def test_a_draft_of_an_older_version_says_so_and_leads_to_both_texts(
    desk: Page, edit_url: str, memory: Memory, superuser: User
) -> None:
    left_with_a_draft(desk, edit_url, "ONE\ntwo\nthree\n")
    curation.edit(memory.store_id, memory.id, "one\ntwo\nTHREE\n", memory.sha256, act(superuser))
    desk.goto(edit_url)
    expect(desk.locator(".draft-offer")).to_contain_text("you opened version 1, and the newest version is 2")
    desk.get_by_role("button", name="Restore").click()
    press(desk, "Control+s")
    expect(desk.get_by_text("You opened version 1. Since then, version 2 was saved.")).to_be_visible()
    expect(desk.locator(".cm-content")).to_be_visible()
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_be_visible()
    assert text_of(memory) == "ONE\ntwo\nTHREE\n"
    expect_no_drafts(desk)


@pytest.mark.long
def test_a_draft_with_the_memorys_text_is_not_offered(
    desk: Page, edit_url: str, memory: Memory, superuser: User
) -> None:
    left_with_a_draft(desk, edit_url, "same\n")
    curation.edit(memory.store_id, memory.id, "same\n", memory.sha256, act(superuser))
    desk.goto(edit_url)
    expect(desk.locator(".cm-content")).to_be_visible()
    expect(desk.locator(".draft-offer")).to_have_count(0)
    expect_no_drafts(desk)


@pytest.mark.long
def test_a_new_memory_has_drafts_too(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    url = f"{live_server.url}/stores/{store.id}/new"
    desk.goto(url)
    desk.get_by_role("textbox", name="Path").fill("/new.md")
    type_text(desk, "new\n")
    desk.goto("about:blank")
    desk.goto(url)
    desk.get_by_role("button", name="Restore").click()
    expect(desk.get_by_role("textbox", name="Path")).to_have_value("/new.md")
    expect(desk.locator("textarea[name=text]")).to_have_value("new\n")
    press(desk, "Control+s")
    expect(desk.get_by_role("heading", level=1)).to_have_text("new.md")
    expect_no_drafts(desk)


@pytest.mark.long
def test_a_merge_that_was_left_is_taken_up_again(desk: Page, edit_url: str, memory: Memory, superuser: User) -> None:
    desk.goto(edit_url)
    type_text(desk, "one\nMINE\nthree\n")
    curation.edit(memory.store_id, memory.id, "one\nTHEIRS\nthree\n", memory.sha256, act(superuser))
    press(desk, "Control+s")
    expect(desk.locator("[data-merge-left]")).to_be_visible()
    desk.locator(".cm-content").focus()
    press(desk, "Control+End")
    desk.keyboard.insert_text("four\n")
    desk.goto("about:blank")
    desk.goto(edit_url)
    expect(desk.locator(".draft-offer")).to_contain_text("When you wrote this draft, you were merging two texts.")
    desk.get_by_role("button", name="Restore").click()
    press(desk, "Control+s")
    expect(desk.get_by_text("There is 1 conflict left in the text.")).to_be_visible()
    desk.get_by_role("button", name="Take mine").first.click()
    desk.get_by_role("button", name="Save the merged text").click()
    expect(desk.locator(".lines")).to_be_visible()
    assert text_of(memory) == "one\nMINE\nthree\nfour\n"


@pytest.mark.long
def test_a_refused_text_stays_in_the_form_and_in_the_draft(
    desk: Page, live_server: LiveServer, memory: Memory, store: MemoryStore
) -> None:
    url = f"{live_server.url}/stores/{store.id}/new"
    desk.goto(url)
    desk.get_by_role("textbox", name="Path").fill("/a.md")
    type_text(desk, "refused\n")
    press(desk, "Control+s")
    expect(desk.get_by_text("is already at")).to_be_visible()
    expect(desk.locator("textarea[name=text]")).to_have_value("refused\n")
    desk.goto("about:blank")
    desk.goto(url)
    desk.get_by_role("button", name="Restore").click()
    expect(desk.locator("textarea[name=text]")).to_have_value("refused\n")


def test_nobody_else_sees_a_draft_and_signing_out_removes_it(
    desk: Page, live_server: LiveServer, edit_url: str, superuser: User
) -> None:
    left_with_a_draft(desk, edit_url)
    sign_in_as(desk.context, superuser, live_server.url)
    desk.goto(edit_url)
    expect(desk.locator(".cm-content")).to_be_visible()
    expect(desk.locator(".draft-offer")).to_have_count(0)
    assert len(desk.evaluate(KEYS)) == 1
    type_text(desk, "of another person\n")
    expect(desk.get_by_text("The draft is kept in this browser.")).to_be_visible()
    desk.locator("summary", has=desk.locator(".avatar")).click()
    desk.get_by_role("button", name="Sign out").click()
    expect(desk.get_by_label("Password")).to_be_visible()
    (left,) = desk.evaluate(KEYS)
    assert superuser.id not in left


@pytest.mark.long
def test_drafts_are_forgotten_after_a_month(desk: Page, live_server: LiveServer, edit_url: str) -> None:
    left_with_a_draft(desk, edit_url)
    desk.goto(live_server.url)
    (key,) = desk.evaluate(KEYS)
    draft = json.loads(desk.evaluate("(key) => localStorage.getItem(key)", key))
    for days, left in ((29, 1), (31, 0)):
        old = json.dumps({**draft, "at": draft["at"] - days * DAY})
        desk.evaluate("([key, value]) => localStorage.setItem(key, value)", [key, old])
        desk.goto(edit_url if left else live_server.url)
        assert len(desk.evaluate(KEYS)) == left
        if left:
            expect(desk.locator(".draft-offer")).to_contain_text("29 days ago")


@pytest.mark.long
def test_a_draft_from_before_a_redaction_is_dropped_unseen(desk: Page, edit_url: str, memory: Memory) -> None:
    left_with_a_draft(desk, edit_url)
    first = memory.head_id
    curation.edit(memory.store_id, memory.id, "other\n", memory.sha256, act())
    redaction.redact_version(memory.store_id, first, act()._replace(at=timezone.now()))
    desk.goto(edit_url)
    expect_no_drafts(desk)
    expect(desk.locator(".draft-offer")).to_have_count(0)


@pytest.mark.long
def test_leaving_is_asked_about_only_where_no_draft_could_be_kept(
    desk: Page, edit_url: str, live_server: LiveServer
) -> None:
    asked: list[str] = []
    desk.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    left_with_a_draft(desk, edit_url)
    assert asked == []
    desk.goto(edit_url)
    desk.evaluate("() => void (Storage.prototype.setItem = () => { throw new Error('full'); })")
    type_text(desk, "lost?\n")
    expect(desk.get_by_text("This browser cannot keep a draft. Save before you leave.")).to_be_visible()
    desk.goto("about:blank")
    assert asked == ["beforeunload"]


@pytest.mark.long
def test_a_second_tab_writes_no_draft_after_a_sign_out_in_another(
    desk: Page, edit_url: str, live_server: LiveServer
) -> None:
    desk.goto(edit_url)
    type_text(desk, "kept\n")
    expect(desk.locator("[data-draft-state]").first).to_contain_text("The draft is kept in this browser.")
    other = desk.context.new_page()
    other.goto(f"{live_server.url}/stores")
    other.get_by_label("Your menu").click()
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Password")).to_be_visible()
    assert other.evaluate(KEYS) == []
    expect(desk.locator("[data-draft-state]").first).to_contain_text("You have signed out")
    type_text(desk, "typed after it\n")
    desk.wait_for_timeout(1_200)
    assert other.evaluate(KEYS) == []
    desk.goto("about:blank")
    assert other.evaluate(KEYS) == []
