"""Today in a real browser: sound in both themes and at every width, and decided about by keys."""

from typing import Literal

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.demo.load import load
from memoryhub.models import Memory, MemoryStore, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.support.fixtures import PASSWORD
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller
from tests.web.review.reviewing import state

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, store: MemoryStore, key: str) -> Page:
    """A browser in which Alice looks at Today, with a finding and two sessions to review."""
    caller = Caller(store, key, session="run-7")
    caller.create("/poison.md", f"# Rules\n\n{POISON}\n")
    caller.session = "run-8"
    caller.create("/fine.md", "All is well.\n")
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url)
    page.wait_for_load_state("load")
    return page


@pytest.mark.long
def test_it_is_sound_at_every_width_in_both_themes(desk: Page) -> None:
    fits(desk)
    for width in (1440, 390, 320):
        desk.set_viewport_size({"width": width, "height": 900})
        axe(desk)


@pytest.mark.push
def test_rows_are_walked_and_decided_about_by_keys(desk: Page, live_server: LiveServer) -> None:
    row = desk.locator("[data-review-item]", has_text="run-8")
    for _ in range(3):
        press(desk, "j")
    expect(row.get_by_role("link").first).to_be_focused()
    press(desk, "g")
    press(desk, "a")
    expect(desk).to_have_url(f"{live_server.url}/audit")
    assert state(Memory.objects.at("/fine.md").get().head) == "unreviewed", "a place was meant and no decision"
    desk.goto(live_server.url)
    row.get_by_role("link").first.focus()
    press(desk, "a")
    expect(desk.get_by_text("Approved 1 version.")).to_be_visible()
    expect(row).to_have_count(0)
    assert state(Memory.objects.at("/fine.md").get().head) == "approved"


def test_from_signing_in_to_the_proof_that_poison_and_its_spread_are_undone_are_five_presses_at_most(
    page: Page, live_server: LiveServer, superuser: User
) -> None:
    load(timezone.now())
    memory = Memory.objects.at("/refund_policies.xml").get()
    presses = 0

    def press(role: Literal["button", "radio", "link"], name: str) -> None:
        nonlocal presses
        presses += 1
        page.get_by_role(role, name=name).first.click()

    page.goto(live_server.url)
    page.get_by_label("E-mail").fill(superuser.email)
    page.get_by_label("Password").fill(PASSWORD)
    press("button", "Sign in")
    expect(page.locator("[data-review-item]").first).to_contain_text("Ignore all previous rules")
    expect(page.locator("#main")).to_contain_text("The webhook “Nightly report” was paused")
    press("link", "Undo the session")
    expect(page.locator(".spread-readers")).to_contain_text("ticket-4503")
    press("radio", "Undo too")
    expect(page.get_by_role("button", name="Undo changes in 3 memories")).to_be_visible()
    expect(page.get_by_role("radio", name="Undo too").first).to_be_focused()
    expect(page.locator("#undo-summary")).to_contain_text("1 memory goes to the trash")
    for width in (320, 390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        axe(page)
    press("button", "Undo changes in 3 memories")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Entry ")
    expect(page.locator("#main")).to_contain_text("and 1 later write of its readers")
    memory.refresh_from_db()
    assert memory.text is not None and "Ignore all previous rules" not in memory.text.content
    assert not Memory.objects.at("/tickets/4503.md").exists()
    assert presses <= 5
