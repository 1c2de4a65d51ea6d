"""Selections in a real browser: by keys alone, by mouse, without script, and as axe sees them."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.memories import curation
from memoryhub.models import HoldKind, Memory, MemoryStore, User
from tests.support.browser import axe, press, sign_in_as
from tests.support.fixtures import new_person
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, store: MemoryStore) -> Page:
    """A browser in which Alice looks at a store of three memories and a directory."""
    for path in ("/1.md", "/2.md", "/3.md", "/dir/4.md"):
        write(store, path, "x" * 1024)
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.id}/")
    page.wait_for_load_state("load")
    return page


def live(store: MemoryStore) -> set[str]:
    return set(Memory.objects.live().filter(store=store).values_list("path", flat=True))


def bar(page: Page) -> str:
    return page.get_by_role("region", name="Selection").inner_text()


def test_two_are_selected_moved_and_taken_back_by_keys_alone(desk: Page, store: MemoryStore) -> None:
    expect(desk.get_by_role("region", name="Selection")).to_be_hidden()
    press(desk, "j", "j", "x", "j", "x")
    expect(desk.get_by_role("status").filter(has_text="2 selected")).to_have_text("2 selected · 2 KB")
    press(desk, "m")
    expect(desk.get_by_label("Directory to move into")).to_be_focused()
    desk.keyboard.type("/archive")
    press(desk, "Enter")
    expect(desk.get_by_role("row", name="/2.md")).to_contain_text("/archive/2.md")
    expect(desk.get_by_role("button", name="Move 2 memories")).to_be_focused()
    assert live(store) == {"/1.md", "/2.md", "/3.md", "/dir/4.md"}
    press(desk, "Enter")
    expect(desk.get_by_role("status").filter(has_text="2 memories moved to /archive.")).to_be_visible()
    assert live(store) == {"/archive/1.md", "/archive/2.md", "/3.md", "/dir/4.md"}
    undo = desk.get_by_role("link", name="Undo")
    for _ in range(40):
        press(desk, "Tab")
        if undo.evaluate("element => element === document.activeElement"):
            break
    press(desk, "Enter")
    button = desk.get_by_role("button", name=re.compile("^Undo changes in 2 memories"))
    expect(button).to_be_visible()
    button.focus()
    press(desk, "Enter")
    expect(desk.get_by_role("status").filter(has_text="Undid changes in 2 memories.")).to_be_visible()
    assert live(store) == {"/1.md", "/2.md", "/3.md", "/dir/4.md"}


@pytest.mark.long
def test_two_are_deleted_and_restored_by_keys_alone(desk: Page, store: MemoryStore, live_server: LiveServer) -> None:
    press(desk, "j", "x", "j", "j", "x", "Delete")
    expect(desk.get_by_role("heading", level=1)).to_have_text("Delete 2 memories")
    expect(desk.get_by_role("button", name="Delete 2 memories")).to_be_focused()
    press(desk, "Enter")
    expect(desk.get_by_text("2 memories are in the trash now.")).to_be_visible()
    assert live(store) == {"/1.md", "/3.md"}
    desk.goto(f"{live_server.url}/stores/{store.id}/trash")
    press(desk, "j", "x", "j", "x", "r")
    expect(desk.get_by_text("2 memories were restored.")).to_be_visible()
    assert live(store) == {"/1.md", "/2.md", "/3.md", "/dir/4.md"}


@pytest.mark.push
def test_a_range_and_all_of_a_page_are_ticked_by_mouse(desk: Page) -> None:
    boxes = desk.locator("[data-select]")
    boxes.nth(0).click()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(desk.get_by_role("status").filter(has_text="selected")).to_have_text("3 selected · 3 KB")
    desk.get_by_label("Select all on this page").click()
    expect(desk.get_by_role("status").filter(has_text="selected")).to_have_text("4 selected · 4 KB")
    desk.get_by_label("Select 2.md").uncheck()
    expect(desk.get_by_label("Select all on this page")).not_to_be_checked()
    desk.get_by_role("button", name="Select nothing").click()
    expect(desk.get_by_role("region", name="Selection")).to_be_hidden()
    desk.get_by_label("Select 1.md").focus()
    press(desk, "x")
    assert bar(desk).startswith("1 selected")
    press(desk, "j", "Shift+X")
    assert bar(desk).startswith("2 selected")


@pytest.mark.long
def test_x_is_only_a_letter_in_a_field_and_where_keys_are_off(desk: Page, alice: User) -> None:
    press(desk, "j", "x", "m")
    expect(desk.get_by_label("Directory to move into")).to_be_focused()
    desk.keyboard.type("/xx")
    expect(desk.get_by_label("Directory to move into")).to_have_value("/xx")
    with tampering():
        User.objects.filter(pk=alice.pk).update(single_keys=False)
    desk.get_by_label("Breadcrumbs").get_by_role("link", name="Support").click()
    desk.locator("[data-list-item] .row-link").first.focus()
    press(desk, "x", "m")
    expect(desk.get_by_role("region", name="Selection")).to_be_hidden()
    desk.get_by_label("Select 1.md").focus()
    press(desk, "Space")
    expect(desk.get_by_role("region", name="Selection")).to_be_visible()


@pytest.mark.long
def test_all_of_a_directory_is_offered_once_the_page_is_ticked(
    desk: Page, store: MemoryStore, live_server: LiveServer
) -> None:
    for number in range(201):
        write(store, f"/big/{number:03}.md", "x")
    desk.goto(f"{live_server.url}/stores/{store.id}/tree/big")
    everything = desk.get_by_label("All of this directory: 201 memories")
    desk.get_by_label("Select 000.md").check()
    expect(everything).to_be_hidden()
    desk.get_by_label("Select all on this page").click()
    everything.check()
    expect(desk.get_by_role("status").filter(has_text="memories ·")).to_have_text("201 memories · 201 B")
    desk.get_by_role("button", name="Delete").click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("Delete 201 memories")


@pytest.mark.push
def test_an_export_is_downloaded(desk: Page) -> None:
    press(desk, "j", "x")
    desk.locator(".selection-bar summary").click()
    with desk.expect_download() as download:
        desk.get_by_role("button", name="Texts in a ZIP archive").click()
    assert download.value.suggested_filename.startswith("support-")


@pytest.mark.push
def test_it_works_without_script(
    browser: Browser, live_server: LiveServer, alice: User, store: MemoryStore, transactional_db: None
) -> None:
    one = write(store, "/a/1.md")
    write(store, "/a/2.md")
    context = browser.new_context(java_script_enabled=False)
    sign_in_as(context, alice, live_server.url)
    page = context.new_page()
    page.goto(f"{live_server.url}/stores/{store.id}/tree/a")
    page.get_by_label("Select 1.md").check()
    page.get_by_role("button", name="Move to…").click()
    page.get_by_label("Directory to move into").fill("/b")
    page.get_by_role("button", name="Show what will move").click()
    page.get_by_role("button", name="Move 1 memory").click()
    assert Memory.objects.get(pk=one.id).path == "/b/1.md"
    page.get_by_label("Select 1.md").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete 1 memory").click()
    page.goto(f"{live_server.url}/stores/{store.id}/trash")
    page.get_by_label("Select /b/1.md").check()
    page.get_by_role("button", name="Restore", exact=True).click()
    assert live(store) == {"/a/2.md", "/b/1.md"}
    context.close()


@pytest.mark.long
def test_axe_finds_nothing_on_the_pages_of_a_selection(desk: Page, store: MemoryStore, live_server: LiveServer) -> None:
    for path in ("/gone/a.md", "/gone/b.md", "/archive/1.md"):
        write(store, path)
    curation.delete(store.id, "/gone", act(new_person("Dora")))
    write(store, "/gone/a.md")
    base = f"{live_server.url}/stores/{store.id}"
    for width, targets in ((1440, ("", "/archive", "/new")), (390, ("",))):
        desk.set_viewport_size({"width": width, "height": 800})
        for into in targets:
            desk.goto(f"{base}/")
            press(desk, "j", "j", "x", "j", "x")
            if not into:
                axe(desk)
            for box in desk.locator("[data-select]").all():
                box.check()
            press(desk, "x")
            desk.get_by_role("button", name="Move to…").click()
            if into:
                desk.get_by_label("Directory to move into").fill(into)
                press(desk, "Enter")
                expect(desk.get_by_role("button", name="Show again")).to_be_visible()
            axe(desk)
    desk.goto(f"{base}/")
    press(desk, "j", "x", "Delete")
    expect(desk.get_by_role("button", name="Delete 1 ")).to_be_visible()
    axe(desk)
    desk.goto(f"{base}/trash")
    press(desk, "j", "x")
    axe(desk)
    desk.get_by_role("button", name="Restore all that were deleted together").click()
    expect(desk.get_by_text("Another memory or directory is at")).to_be_visible()
    axe(desk)
    for address in ("/views/save?page=audit&query=outcome%3Derror", f"/stores/{store.id}/trash?q=path:/x/"):
        desk.goto(live_server.url + address)
        axe(desk)


@pytest.mark.parametrize("width", [1440, 390])
def test_icons_of_a_move_are_beside_their_words(desk: Page, store: MemoryStore, width: int) -> None:
    write(store, f"/{'long' * 15}.md")
    place(store.pk, act(), kind=HoldKind.HOLD, reason="lawsuit 7", memory=Memory.objects.at("/1.md").get().pk)
    desk.set_viewport_size({"width": width, "height": 900})
    desk.reload()
    for box in desk.get_by_role("checkbox", name=re.compile(r"^Select .*\.md")).all():
        box.evaluate("element => element.click()")
    desk.locator("[name=act][value=move]").click()
    desk.get_by_label("Directory to move into").fill("/archive")
    press(desk, "Enter")
    expect(desk.get_by_text("This memory keeps its legal hold")).to_be_visible()
    for icon in (desk.locator(".with-icon > .icon"), *desk.locator("td .entry > .icon").all()):
        beside = icon.bounding_box()
        words = icon.locator("xpath=following-sibling::*[1]").bounding_box()
        assert beside and words
        assert words["x"] >= beside["x"] + beside["width"] and words["y"] < beside["y"] + beside["height"]
