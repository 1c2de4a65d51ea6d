"""Erasing and redacting in a real browser: by keys alone, at every width, in both themes, and with nothing kept."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.rules.holds import place, release
from memoryhub.actions.findings import scans
from memoryhub.models import HoldKind, Memory, MemoryStore, Receipt, Scan, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.support.fixtures import AT
from tests.web.erasure.erasing import SUBJECT, of_two_versions, text_of, version, write
from tests.web.memories.pages import act

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, store: MemoryStore) -> Page:
    """A browser in which Alice looks at a store with a subject in a head, an old version, a path and an entry."""
    write(store, "/notes/visit.md", f"Monday\n{SUBJECT} came by with <b>a friend</b>\n{'long ' * 60}\n")
    write(store, f"/people/{SUBJECT}.md", f"see {SUBJECT.upper()}\n")
    of_two_versions(store)
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/erase?store={store.id}")
    page.wait_for_load_state("load")
    return page


def tab_to(page: Page, name: str) -> None:
    """Presses Tab until something with this name has the focus."""
    for _ in range(120):
        press(page, "Tab")
        focused = "document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText || ''"
        if re.search(name, str(page.evaluate(focused))):
            return
    raise AssertionError(f"no focus on {name}")


def test_a_subject_is_erased_by_keys_alone(desk: Page, store: MemoryStore, alice: User) -> None:
    fits(desk)
    hold = place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 77", path="/notes")
    desk.get_by_label("Texts to erase, one per line").focus()
    desk.keyboard.type(f"{SUBJECT}")
    tab_to(desk, "Find every place")
    press(desk, "Enter")
    expect(desk.get_by_text("held: nothing is erased here")).to_be_visible()
    fits(desk)
    axe(desk)
    release(store.id, hold.pk, act(alice))
    expect(desk.get_by_label(re.compile(SUBJECT.upper()))).to_be_checked()
    desk.get_by_label(re.compile(SUBJECT.upper())).focus()
    tab_to(desk, "Search again with these ticks")
    press(desk, "Enter")
    with desk.expect_popup() as opened:
        desk.get_by_role("button", name="See every place").click()
    expect(opened.value.locator("mark", has_text=SUBJECT.upper()).first).to_be_visible()
    fits(opened.value)
    axe(opened.value)
    opened.value.close()
    desk.get_by_label("Confirmation").focus()
    desk.keyboard.type(SUBJECT)
    tab_to(desk, r"^Erase \d+ places permanently")
    press(desk, "Enter")
    expect(desk.get_by_role("heading", level=1)).to_have_text("Erased from 1 memory store")
    fits(desk)
    assert "[redacted] came by" in text_of(Memory.objects.get(store=store, path="/notes/visit.md"))
    kept = "JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])"
    assert "Quellenberg" not in desk.evaluate(kept) and "Quellenberg" not in desk.url
    receipt = Receipt.objects.get(store=store.id).pk
    desk.goto(f"{desk.url.partition('/erase')[0]}/stores/{store.id}/receipts/{receipt}")
    expect(desk.get_by_role("heading", level=1)).to_have_text("Receipt of an erasure")
    fits(desk)
    axe(desk)
    document = desk.locator("#receipt-document").inner_text()
    desk.goto(desk.url.rpartition("/")[0])
    desk.get_by_label("The downloaded document").fill(document)
    desk.get_by_role("button", name="Check it").click()
    expect(desk.get_by_text("The document is valid")).to_be_visible()
    fits(desk)


@pytest.mark.long
def test_a_version_is_redacted_and_says_so(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    memory = Memory.objects.get(store=store, path="/people/zq.md")
    desk.goto(f"{live_server.url}/stores/{store.id}/versions/{version(memory).pk}")
    desk.get_by_role("link", name="Redact…").click()
    expect(desk.get_by_label("Type the name of the memory")).to_be_visible()
    fits(desk)
    desk.get_by_label("Type the name of the memory").fill("zq.md")
    desk.get_by_role("button", name="Redact version 1 permanently").click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("Version 1 of zq.md")
    expect(desk.get_by_text("The audit still records who wrote it and when.")).to_be_visible()
    fits(desk)
    axe(desk)
    desk.goto(f"{live_server.url}/stores/{store.id}/versions/{memory.head_id}/redact")
    expect(desk.get_by_role("heading", name="The newest version cannot be redacted")).to_be_visible()
    fits(desk)


@pytest.mark.push
def test_a_scan_is_watched_and_its_page_moves_by_itself(
    desk: Page, live_server: LiveServer, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "STEP_VERSIONS", 1)
    desk.goto(f"{live_server.url}/stores/{store.id}/scans")
    fits(desk)
    desk.get_by_role("button", name="Scan the history").click()
    expect(desk.get_by_role("button", name="Cancel")).to_be_visible()
    fits(desk)
    axe(desk)
    scan = Scan.objects.get()
    assert scans.step(scan.pk, AT)
    expect(desk.get_by_text("1 of 4")).to_be_visible()
    desk.reload()
    while scans.step(scan.pk, AT):
        pass
    expect(desk.get_by_text("Done: 0 new findings")).to_be_visible()
    fits(desk)


@pytest.mark.push
def test_while_the_answer_is_awaited_a_bar_says_so_and_can_be_put_away(desk: Page) -> None:
    """With 204 a browser stays where it is, as it does while a long search goes on."""
    desk.route(re.compile(r"/erase\?"), lambda route: route.fulfill(status=204))
    expect(desk.get_by_role("progressbar")).to_be_hidden()
    desk.get_by_label("Texts to erase, one per line").fill(SUBJECT)
    desk.get_by_role("button", name="Find every place").click()
    expect(desk.get_by_role("progressbar")).to_be_visible()
    expect(desk.get_by_text("Searching the whole memory store")).to_contain_text("1 s")
    fits(desk)
    axe(desk)
    desk.get_by_role("button", name="Stop").click()
    expect(desk.get_by_role("progressbar")).to_be_hidden()
    expect(desk.get_by_label("Texts to erase, one per line")).to_have_value(SUBJECT)
