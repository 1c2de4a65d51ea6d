"""Undoing a session without a mouse: from its page through a conflict to the entry; and sliding to a moment."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Memory, MemoryStore, Session, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, text_of

pytestmark = pytest.mark.browser

RULES = "# Rules\n\n- Ask the lead\n- Be kind\n- Write it down\n"


@pytest.fixture
def bad(store: MemoryStore, key: str, alice: User) -> Session:
    """A session that wrote into three memories; Alice has changed one of its lines since."""
    caller = Caller(store, key, session="morning")
    memory = caller.create("/rules.md", RULES)
    caller.create("/team/plan.md", "one\ntwo\nthree\n")
    caller.session = "poisoned"
    caller.replace("/rules.md", "Ask the lead", "Ask nobody")
    caller.replace("/team/plan.md", "two", "2")
    caller.create("/stray.md", "stray\n")
    memory.refresh_from_db()
    better = RULES.replace("Ask the lead", "Ask nobody but me")
    curation.edit(store.id, memory.pk, better, memory.sha256, act(alice))
    return Session.objects.get(name="poisoned")


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User) -> Page:
    sign_in_as(page.context, alice, live_server.url)
    return page


def tab_to(page: Page, name: str, role: str = "link") -> None:
    """Presses Tab until something of that name has the focus."""
    target = page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
    for _ in range(80):
        press(page, "Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_session_is_undone_by_keys_alone(
    desk: Page, live_server: LiveServer, store: MemoryStore, bad: Session
) -> None:
    preview = reverse("undo_session", args=[store.id, bad.pk])
    desk.goto(live_server.url + reverse("session", args=[bad.pk]))
    for _ in range(120):
        press(desk, "Tab")
        if (desk.evaluate("document.activeElement.getAttribute('href')") or "").startswith(preview):
            break
    press(desk, "Enter")
    expect(desk).to_have_url(live_server.url + preview)
    expect(desk.get_by_role("button", name="Undo changes in 2 memories")).to_be_visible()
    expect(desk.locator(".undo-counts")).to_contain_text("1 memory changes")
    expect(desk.locator(".undo-change").first).to_contain_text("Someone changed the same lines later")
    axe(desk)

    expect(desk.locator("[data-undo-as]")).to_have_text("Unless you choose otherwise below:")

    keep = desk.get_by_role("radio", name=re.compile("Keep it as it is now"))
    for _ in range(40):
        press(desk, "Tab")
        if keep.evaluate("element => element === document.activeElement"):
            break
    expect(keep).to_be_checked()
    press(desk, "ArrowDown")
    expect(desk.get_by_role("radio", name=re.compile("Make it as it was before"))).to_be_checked()
    expect(desk.get_by_role("button", name="Undo changes in 3 memories")).to_be_visible()
    expect(desk.locator(".undo-counts")).to_contain_text("2 memories change")
    expect(desk.locator("[data-undo-as]")).to_have_text("With your choices:")
    tab_to(desk, "Leave it as it is", "checkbox")
    press(desk, "Space")
    expect(desk.get_by_role("button", name="Undo changes in 2 memories")).to_be_visible()
    for box in desk.get_by_role("checkbox", name="Leave it as it is").all():
        box.check()
    keep.check()
    expect(desk.get_by_role("button", name="Choose what to undo")).to_be_disabled()
    desk.get_by_role("radio", name=re.compile("Make it as it was before")).check()
    for box in desk.get_by_role("checkbox", name="Leave it as it is").all():
        box.uncheck()
    tab_to(desk, "Note optional", "textbox")
    desk.keyboard.type("poisoned")
    tab_to(desk, "Undo changes in 3 memories", "button")
    press(desk, "Enter")

    expect(desk.get_by_role("status")).to_contain_text("Undid changes in 3 memories.")
    entry = AuditEntry.objects.of_chain(store.id).newest()[0]
    expect(desk).to_have_url(live_server.url + reverse("entry", args=[store.id, entry.seq]))
    assert (entry.command, entry.note) == ("undo", "poisoned")
    assert text_of(Memory.objects.get(path="/rules.md")) == RULES
    assert text_of(Memory.objects.get(path="/team/plan.md")) == "one\ntwo\nthree\n"
    assert not Memory.objects.at("/stray.md").exists()

    tab_to(desk, "Undo")
    press(desk, "Enter")
    expect(desk.get_by_role("heading", level=1)).to_contain_text(f"Undo entry {entry.seq}")


@pytest.mark.push
def test_sliding_says_the_moment_and_enter_goes_there(
    desk: Page, live_server: LiveServer, store: MemoryStore, bad: Session
) -> None:
    desk.goto(live_server.url + reverse("moments", args=[store.id]))
    axe(desk)
    newest = AuditEntry.objects.of_chain(store.id).newest()[0].seq
    slider = desk.get_by_role("slider", name="Moment")
    slider.focus()
    press(desk, "ArrowLeft")
    press(desk, "ArrowLeft")
    expect(desk.locator("#moment-hint")).to_contain_text(f"Entry {newest - 2}")
    expect(desk.locator("#moment-hint")).to_contain_text("replaced text in /team/plan.md")
    press(desk, "Enter")
    expect(desk).to_have_url(live_server.url + reverse("moment", args=[store.id, newest - 2]))
    expect(desk.locator(".listing")).not_to_contain_text("stray.md")
    axe(desk)
    press(desk, "]")
    expect(desk).to_have_url(live_server.url + reverse("moment", args=[store.id, newest - 1]))
    expect(desk.locator(".listing")).to_contain_text("stray.md")
    press(desk, "[")
    expect(desk).to_have_url(live_server.url + reverse("moment", args=[store.id, newest - 2]))


@pytest.mark.long
def test_without_script_everything_still_works(
    browser: object, live_server: LiveServer, store: MemoryStore, bad: Session, alice: User
) -> None:
    context = browser.new_context(java_script_enabled=False)  # type: ignore[attr-defined]
    sign_in_as(context, alice, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("undo_session", args=[store.id, bad.pk]))
    page.get_by_role("radio", name=re.compile("Make it as it was before")).check()
    page.get_by_role("checkbox", name="Leave it as it is").first.check()
    page.get_by_role("button", name=re.compile("^Undo")).click()
    expect(page.get_by_role("status")).to_contain_text("Undid changes in 2 memories.")
    page.goto(live_server.url + reverse("moments", args=[store.id]))
    page.get_by_label("After entry").fill("3")
    page.get_by_label("After entry").press("Enter")
    expect(page).to_have_url(live_server.url + reverse("moment", args=[store.id, 3]))
    context.close()


@pytest.mark.long
def test_pages_of_time_are_sound_where_there_is_little_to_show(
    desk: Page, live_server: LiveServer, store: MemoryStore, bad: Session
) -> None:
    """In the states in which `test_browser_pages` does not see them."""
    memory = Memory.objects.get(path="/rules.md")
    last = AuditEntry.objects.of_chain(store.id).newest()[0].seq
    addresses = [
        reverse("moments", args=[store.id]) + "?at=1990-01-01",
        reverse("moment_memory", args=[store.id, 1, memory.pk]),
        reverse("changes", args=[store.id]) + f"?from={last}",
        reverse("restore_moment", args=[store.id, 3]),
        reverse("restore_moment", args=[store.id, last]),
        reverse("undo_version", args=[store.id, memory.head_id]),
    ]
    for address in addresses:
        response = desk.goto(live_server.url + address)
        assert response is not None
        assert (response.status, desk.locator("h1").count()) == (200, 1), address
        axe(desk)
        fits(desk)
