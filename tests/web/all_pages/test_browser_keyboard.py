"""Without a mouse, and on a telephone: the skip link, every control by Tab, the shortcuts and where they are off."""

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

# What a person must be able to reach by Tab, in the order of the document, marked with numbers. Of radio buttons that
# is the chosen one, from which the arrow keys lead to the others.
MARK_CONTROLS = """() => {
  const names = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const all = [...document.querySelectorAll(names)].filter((element) => element.tabIndex >= 0 && !element.disabled
    && !(element.type === "radio" && !element.checked) && element.checkVisibility({ visibilityProperty: true }));
  all.forEach((element, number) => { element.dataset.reached = String(number); });
  return all.length;
}"""

# The number of the control that has the focus, and whether one can see that: on the screen, uncovered, with a ring.
FOCUSED = """() => {
  const element = document.activeElement;
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left + Math.min(box.width / 2, 20), box.top + Math.min(box.height / 2, 20)];
  const top = document.elementFromPoint(x, y);
  const seen = top !== null && (element.contains(top) || top.contains(element));
  const ring = getComputedStyle(element).outlineStyle !== "none"
    || getComputedStyle(element.closest(":focus-within:not(:focus)") ?? element).outlineStyle !== "none";
  return [element.dataset.reached ?? element.outerHTML.slice(0, 120), seen, ring];
}"""


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    """A memory of two versions beneath a directory."""
    made = write(store, "/policies/refunds.md", "# Policies\n\n- decide alone\n" + "- more\n" * 200)
    curation.edit(store.id, made.id, made.text.content.replace("alone", "together"), made.sha256, act())
    made.refresh_from_db()
    return made


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, memory: Memory) -> Page:
    """A browser in which Alice looks at the memory."""
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}")
    page.wait_for_load_state("load")
    return page


def test_the_skip_link_is_first_and_leads_to_the_content(desk: Page) -> None:
    link = desk.get_by_role("link", name="Skip to the content")
    expect(link).not_to_be_in_viewport()
    press(desk, "Tab")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    press(desk, "Enter")
    expect(desk.locator("main")).to_be_focused()
    press(desk, "Tab")
    expect(desk.get_by_label("Breadcrumbs").get_by_role("link").first).to_be_focused()


@pytest.mark.push
@pytest.mark.parametrize(
    ("address", "width"),
    [
        ("", 390), ("/compare?from=1&to=2", 1440),
        *(
            pytest.param(page, width, marks=pytest.mark.long)
            for page, width in (("", 1440), ("/compare?from=1&to=2", 390), ("/versions", 1440), ("/delete", 390))
        ),
    ],
)  # fmt: skip
def test_tab_reaches_every_control_in_order_and_shows_where_it_is(
    desk: Page, live_server: LiveServer, memory: Memory, address: str, width: int
) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}{address}")
    wrong = []
    for number in range(desk.evaluate(MARK_CONTROLS)):
        press(desk, "Tab")
        reached, seen, ring = desk.evaluate(FOCUSED)
        if (reached, seen, ring) != (str(number), True, True):
            wrong.append(f"stop {number}: {reached} {'' if seen else 'unseen '}{'' if ring else 'without a ring'}")
    assert not wrong, "\n".join(wrong)


def test_the_drawer_of_a_telephone_opens_and_closes_by_keys(desk: Page) -> None:
    desk.set_viewport_size({"width": 390, "height": 800})
    tree = desk.get_by_role("tree")
    expect(tree).not_to_be_visible()
    button = desk.get_by_role("button", name="Memories", exact=True)
    button.focus()
    press(desk, "Enter")
    expect(tree).to_be_visible()
    press(desk, "Tab")
    expect(desk.get_by_role("treeitem", name="refunds.md")).to_be_focused()
    press(desk, "Escape")
    expect(tree).not_to_be_visible()
    expect(button).to_be_focused()


def test_a_question_mark_opens_the_guide_at_the_page_and_lists_its_keys(desk: Page) -> None:
    press(desk, "?")
    dialog = desk.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("heading", name="The life line of a memory")).to_be_visible()
    expect(dialog.get_by_text("A dot is a read")).to_be_visible()
    for label in ("Show this help", "Go to the memory stores", "Edit", "Permanent link"):
        expect(dialog.get_by_text(label, exact=True)).to_be_visible()
    press(desk, "e")
    expect(dialog).to_be_visible()
    press(desk, "Escape")
    expect(dialog).not_to_be_visible()


@pytest.mark.push
def test_keys_go_to_places_and_move_in_lists(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    press(desk, "e")
    expect(desk).to_have_url(re.compile("/edit$"))
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}")
    press(desk, "y")
    expect(desk).to_have_url(re.compile("/versions/memver_"))
    press(desk, "[")
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Version 1")
    press(desk, "]")
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Version 2")
    press(desk, "g")
    press(desk, "a")
    expect(desk).to_have_url(f"{live_server.url}/audit")
    for key, row in (("j", 0), ("j", 1), ("k", 0)):
        press(desk, key)
        expect(desk.locator("[data-list-item]").nth(row).locator(".row-link")).to_be_focused()
    press(desk, "Enter")
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Entry")
    press(desk, "g")
    press(desk, "s")
    expect(desk).to_have_url(f"{live_server.url}/stores")


@pytest.mark.push
@pytest.mark.parametrize("address", [pytest.param("/stores", marks=pytest.mark.long), "/audit"])
def test_a_capital_f_goes_to_the_filter_where_keys_are_only_letters(
    desk: Page, live_server: LiveServer, address: str
) -> None:
    desk.goto(live_server.url + address)
    press(desk, "F")
    field = desk.locator("main [name=q]")
    expect(field).to_be_focused()
    desk.keyboard.type("g s?/jke")
    expect(field).to_have_value("g s?/jke")
    expect(desk.get_by_role("dialog")).not_to_be_visible()
    expect(desk).to_have_url(live_server.url + address)


@pytest.mark.push
def test_keys_are_only_letters_in_the_editor(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    address = f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit"
    desk.goto(address)
    desk.locator(".cm-content").focus()
    press(desk, "Control+Home")
    desk.keyboard.type("?/g sy")
    expect(desk.locator("textarea[name=text]")).to_have_value(re.compile(r"^\?/g sy# Policies"))
    expect(desk).to_have_url(address)
    press(desk, "Escape")
    press(desk, "Tab")
    expect(desk.get_by_label("Note")).to_be_focused()


@pytest.mark.long
def test_single_keys_can_be_switched_off(desk: Page, alice: User) -> None:
    with tampering():
        User.objects.filter(pk=alice.pk).update(single_keys=False)
    desk.reload()
    address = desk.url
    for key in ("?", "e", "y", "g", "s", "/"):
        press(desk, key)
    expect(desk.get_by_role("dialog")).not_to_be_visible()
    expect(desk).to_have_url(address)
    desk.get_by_role("link", name="Edit").click()
    desk.locator(".cm-content").click()
    desk.keyboard.type("still ")
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_contain_text("still")
