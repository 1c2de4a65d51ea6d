"""Two people write the same memory at once, in real browsers: nothing is lost, and each learns what the other did."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Role, User
from tests.support.browser import PATIENCE, Console, axe, press, sign_in_as
from tests.support.fixtures import BY
from tests.web.memories.pages import act, text_of, write

pytestmark = pytest.mark.browser

TEXT = "# Policies\n\n- Up to 120 EUR: decide alone\n- Above: ask the shift lead\n- Gifts: no refund\n"


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    """A memory of Alice's and Bob's store."""
    return write(store, "/policies/refunds.md", TEXT)


@pytest.fixture
def bob(bob: User, store: MemoryStore) -> User:
    """Bob may write here."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    return bob


@pytest.fixture
def editing(live_server: LiveServer, memory: Memory) -> Callable[[Page, User], Page]:
    """Opens the memory's editor in a browser in which somebody has signed in."""

    def opened(page: Page, user: User) -> Page:
        sign_in_as(page.context, user, live_server.url)
        page.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit")
        expect(page.locator(".cm-content")).to_be_visible()
        return page

    return opened


@pytest.fixture
def other(browser: Browser, browser_context_args: dict[str, object], console: Console) -> Iterator[Page]:
    """Another person's browser."""
    context: BrowserContext = browser.new_context(**browser_context_args)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", console.hear)
    page.on("pageerror", lambda error: console.messages.append(f"uncaught: {error}"))
    yield page
    context.close()


def type_text(page: Page, text: str) -> None:
    """Replaces what the editor holds, as a person would."""
    page.locator(".cm-content").click()
    press(page, "Control+a")
    page.keyboard.insert_text(text)


def save(page: Page, name: str = "Save") -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def saved_texts(memory: Memory) -> list[str]:
    versions = MemoryVersion.objects.of_memory(memory).order_by("number").select_related("text")
    return [version.text.content for version in versions if version.text]


@pytest.mark.long
def test_two_people_edit_at_once_and_both_texts_are_there(
    page: Page, other: Page, editing: Callable[[Page, User], Page], memory: Memory, alice: User, bob: User
) -> None:
    alices, bobs = editing(page, alice), editing(other, bob)
    type_text(alices, TEXT.replace("120", "150"))
    type_text(bobs, TEXT.replace("no refund", "ask first"))
    save(bobs)
    expect(bobs.locator(".lines")).to_contain_text("ask first")
    save(alices)
    expect(alices.get_by_text("You opened version 1. Since then, version 2 was saved.")).to_be_visible()
    expect(alices.locator("main")).to_contain_text("Bob")
    expect(alices.get_by_text("Your changes and the saved changes are in different lines")).to_be_visible()
    expect(alices.locator("[aria-labelledby=clean-title] .diff ins")).to_have_text("150")
    axe(alices)
    save(alices, "Save the merged text")
    expect(alices.locator(".lines")).to_contain_text("150 EUR")
    expect(alices.locator(".lines")).to_contain_text("ask first")
    assert text_of(memory) == TEXT.replace("120", "150").replace("no refund", "ask first")
    bobs.get_by_role("link", name=re.compile("^Versions")).click()
    expect(bobs.get_by_text("merged with version 2 by Bob")).to_be_visible()


def test_both_change_one_line_and_choose_without_the_mouse(
    page: Page, other: Page, editing: Callable[[Page, User], Page], memory: Memory, alice: User, bob: User
) -> None:
    alices, bobs = editing(page, alice), editing(other, bob)
    type_text(bobs, TEXT.replace("120", "200").replace("no refund", "ask Bob"))
    save(bobs)
    expect(bobs.locator(".lines")).to_contain_text("200 EUR")
    type_text(alices, TEXT.replace("120", "150").replace("no refund", "ask Alice"))
    press(alices, "Control+s")
    left = alices.locator("[data-merge-left]")
    expect(left).to_have_text("Conflicts left: 2 of 2")
    axe(alices)
    blocks = alices.locator("[data-merge-conflict]")
    expect(blocks.first.locator(".merge-theirs")).to_contain_text("200")
    expect(blocks.first.locator(".merge-base")).to_contain_text("120")
    expect(blocks.first.locator(".merge-mine")).to_contain_text("150")

    press(alices, "n")
    expect(alices.locator(".cm-content")).to_be_focused()
    press(alices, "F7")
    alices.keyboard.type("!")
    expect(alices.locator("textarea[name=text]")).to_have_value(re.compile("\n!<<<<<<< yours\n- Gifts: ask Alice"))
    expect(left).to_have_text("Conflicts left: 1 of 2")
    press(alices, "Control+z")
    expect(left).to_have_text("Conflicts left: 2 of 2")

    press(alices, "Control+s")
    expect(alices.get_by_role("dialog", name="There are conflicts left")).to_be_visible()
    axe(alices)
    press(alices, "Escape")
    take = blocks.first.get_by_role("button", name="Take theirs")
    take.focus()
    press(alices, "Enter")
    expect(left).to_have_text("Conflicts left: 1 of 2")
    expect(blocks.first.get_by_text("theirs taken")).to_be_visible()
    expect(blocks.nth(1).get_by_role("button", name="Take theirs")).to_be_focused()
    press(alices, "Tab")
    press(alices, "Tab")
    press(alices, "Enter")
    expect(left).to_have_text("Every conflict is settled")
    expect(blocks.nth(1).get_by_text("both taken")).to_be_visible()
    press(alices, "Control+s")
    expect(alices.locator(".lines")).to_contain_text("200 EUR")
    both = "- Gifts: ask Bob\n- Gifts: ask Alice\n"
    assert text_of(memory) == TEXT.replace("120", "200").replace("- Gifts: no refund\n", both)
    entry = AuditEntry.objects.of_chain(memory.store_id).newest()[0]
    assert '"merged":true' in (entry.input or "")


@pytest.mark.long
def test_a_settled_conflict_comes_back_when_it_is_undone_in_the_text(
    page: Page, editing: Callable[[Page, User], Page], memory: Memory, alice: User, superuser: User
) -> None:
    alices = editing(page, alice)
    type_text(alices, TEXT.replace("120", "150") + "mine at the end")
    curation.edit(memory.store_id, memory.id, TEXT.replace("120", "200") + "theirs", memory.sha256, act(superuser))
    save(alices)
    blocks, left = alices.locator("[data-merge-conflict]"), alices.locator("[data-merge-left]")
    alices.locator(".cm-conflict-bar").first.get_by_text("Take mine").click()
    expect(blocks.first.get_by_text("yours taken")).to_be_visible()
    alices.locator(".cm-content").click()
    press(alices, "Control+z")
    expect(left).to_have_text("Conflicts left: 2 of 2")
    expect(blocks.first.get_by_text("yours taken")).not_to_be_visible()
    alices.get_by_role("button", name="Take all mine").click()
    save(alices, "Save the merged text")
    expect(alices.locator(".lines")).to_contain_text("mine at the end")
    assert text_of(memory) == TEXT.replace("120", "150") + "mine at the end"


@pytest.mark.long
def test_a_third_version_while_merging_opens_the_room_again(
    page: Page, editing: Callable[[Page, User], Page], memory: Memory, alice: User, superuser: User
) -> None:
    alices = editing(page, alice)
    type_text(alices, TEXT.replace("120", "150"))
    curation.edit(memory.store_id, memory.id, TEXT.replace("120", "200"), memory.sha256, act(superuser))
    save(alices)
    alices.locator("[data-merge-conflict]").get_by_role("button", name="Take mine").click()
    memory.refresh_from_db()
    last = TEXT.replace("120", "200").replace("Policies", "Our policies")
    curation.edit(memory.store_id, memory.id, last, memory.sha256, act(superuser))
    save(alices, "Save the merged text")
    expect(alices.get_by_text("Since then, version 3 was saved")).to_be_visible()
    save(alices, "Save the merged text")
    expect(alices.locator(".lines")).to_contain_text("Our policies")
    assert text_of(memory) == TEXT.replace("120", "150").replace("Policies", "Our policies")
    assert len(saved_texts(memory)) == 4


@pytest.mark.long
def test_without_script_the_sides_are_chosen_in_a_form(
    browser: Browser, live_server: LiveServer, memory: Memory, alice: User, superuser: User
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in_as(context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit")
    page.get_by_label("Text", exact=True).fill(TEXT.replace("120", "150"))
    curation.edit(memory.store_id, memory.id, TEXT.replace("120", "200"), memory.sha256, act(superuser))
    save(page)
    expect(page.get_by_label("Text", exact=True)).to_have_value(re.compile("<<<<<<< yours"))
    save(page, "Save the merged text")
    expect(page.get_by_text("There is 1 conflict left in the text.")).to_be_visible()
    page.get_by_role("radio", name="Mine").check()
    page.get_by_role("button", name="Put what I have chosen into the text").click()
    expect(page.get_by_text("Every conflict is settled.")).to_be_visible()
    save(page, "Save the merged text")
    expect(page.locator(".lines")).to_contain_text("150 EUR")
    assert text_of(memory) == TEXT.replace("120", "150")
    context.close()


def test_who_edits_is_told_that_somebody_else_has_saved(
    page: Page, editing: Callable[[Page, User], Page], memory: Memory, alice: User, superuser: User
) -> None:
    page.clock.install()
    alices = editing(page, alice)
    type_text(alices, "typing\n")
    curation.edit(memory.store_id, memory.id, TEXT + "theirs\n", memory.sha256, act(superuser))
    page.clock.run_for(3_000)
    expect(alices.get_by_text("Root has saved version 2.")).to_be_visible()
    expect(alices.locator(".cm-content")).to_be_focused()
    expect(alices.locator("textarea[name=text]")).to_have_value("typing\n")
    axe(alices)
