"""Every shortcut that people are promised: listed behind `?`, doing what it says, and off where keys are off."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from tests.support.browser import press, sign_in_as
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.browser

PLACES = {"t": "/", "s": "/stores", "a": "/audit", "r": "/review", "f": "/search", "o": "/overview"}


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    """A memory of three versions beneath a directory."""
    made = write(store, "/policies/refunds.md", "one\n")
    for text in ("two\n", "three\n"):
        curation.edit(store.id, made.id, text, made.sha256, act())
        made.refresh_from_db()
    return made


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, memory: Memory) -> Page:
    """A browser in which Alice looks at the memory."""
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}")
    page.wait_for_load_state("load")
    return page


def of_memory(live_server: LiveServer, memory: Memory, page: str) -> str:
    return f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}{page}"


@pytest.mark.parametrize(
    ("key", "address"),
    [pytest.param(*place, marks=[pytest.mark.long] * (place[0] not in "ta")) for place in PLACES.items()],
)
def test_g_and_a_letter_go_to_a_place(desk: Page, live_server: LiveServer, key: str, address: str) -> None:
    press(desk, "g")
    press(desk, key)
    expect(desk).to_have_url(live_server.url + address)


def test_every_place_is_listed(desk: Page) -> None:
    press(desk, "?")
    dialog = desk.get_by_role("dialog")
    listed = dialog.locator("dd").all_inner_texts()
    words = {"".join(keys.split()) for keys in listed}
    assert {"?", *("g" + key for key in PLACES), "e", "y"} <= words
    press(desk, "g")
    press(desk, "a")
    expect(dialog).to_be_visible()


@pytest.mark.push
def test_brackets_step_through_versions_where_one_is_shown_and_where_two_are_compared(
    desk: Page, live_server: LiveServer, memory: Memory
) -> None:
    press(desk, "y")
    heading = desk.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Version 3")
    press(desk, "[")
    expect(heading).to_contain_text("Version 2")
    press(desk, "]")
    expect(heading).to_contain_text("Version 3")
    desk.goto(of_memory(live_server, memory, "/compare?from=2&to=3&mode=split"))
    press(desk, "[")
    expect(heading).to_have_text("Version 1 → version 2")
    expect(desk).to_have_url(re.compile("mode=split"))
    press(desk, "[")
    press(desk, "]")
    expect(heading).to_have_text("Version 2 → version 3")
    expect(desk.get_by_role("link", name="Later")).to_have_count(0)


def test_j_k_and_enter_move_and_open_in_lists(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(of_memory(live_server, memory, "/versions"))
    press(desk, "j")
    press(desk, "j")
    expect(desk.get_by_role("link", name="Version 2", exact=True)).to_be_focused()
    press(desk, "k")
    press(desk, "Enter")
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Version 3")


@pytest.mark.push
def test_keys_work_on_a_box_but_not_in_a_field(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(of_memory(live_server, memory, "/versions"))
    desk.get_by_role("radio", name="A version 2").focus()
    press(desk, "j")
    expect(desk.get_by_role("radio", name="A version 2")).not_to_be_focused()
    desk.goto(of_memory(live_server, memory, "/compare?from=1&to=2"))
    address = desk.url
    desk.get_by_label("From version").focus()
    for key in ("]", "g", "a", "?", "j"):
        press(desk, key)
    expect(desk).to_have_url(address)
    expect(desk.get_by_role("dialog")).not_to_be_visible()


def test_e_opens_the_editor_and_control_s_saves(desk: Page, memory: Memory) -> None:
    press(desk, "e")
    expect(desk.locator(".cm-content")).to_be_visible()
    desk.locator(".cm-content").focus()
    press(desk, "Control+Home")
    desk.keyboard.type("e g s ")
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_contain_text("e g s three")


@pytest.mark.push
def test_single_keys_are_off_when_the_person_says_so(
    desk: Page, live_server: LiveServer, memory: Memory, alice: User
) -> None:
    with tampering():
        User.objects.filter(pk=alice.pk).update(single_keys=False)
    desk.goto(of_memory(live_server, memory, "/compare?from=1&to=2"))
    address = desk.url
    for key in ("]", "g", "r", "?", "j", "x", "/"):
        press(desk, key)
    expect(desk.get_by_role("dialog")).not_to_be_visible()
    expect(desk).to_have_url(address)


@pytest.mark.push
def test_the_tree_remembers_what_was_open(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    write(store, "/other/deep.md")
    desk.goto(f"{live_server.url}/stores/{store.id}/")
    desk.wait_for_load_state("load")
    directory = desk.get_by_role("treeitem", name=re.compile("other"))
    directory.focus()
    press(desk, "ArrowRight")
    expect(desk.get_by_role("treeitem", name=re.compile("deep.md"))).to_be_visible()
    desk.goto(f"{live_server.url}/stores/{store.id}/")
    expect(desk.get_by_role("treeitem", name=re.compile("deep.md"))).to_be_visible()
