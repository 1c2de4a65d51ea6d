"""The findings in a real browser: without a mouse, in both themes, at every width."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import AuditEntry, Finding, FindingState, MemoryStore, User
from tests.support.browser import Console, axe, fits, press, sign_in_as
from tests.web.findings.flagged import CARD, POISON, with_card
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def store_with_findings(store: MemoryStore, key: str) -> MemoryStore:
    caller = Caller(store, key, session="run-1")
    with_card(caller)
    caller.create("/notes/deploy.md", f"{POISON}\nThe root password is Tr0ub4dor&3-horse.\n")
    return store


def states(store: MemoryStore) -> list[str]:
    return sorted(Finding.objects.of_store(store.pk).values_list("state", flat=True))


def test_findings_are_decided_about_with_the_keyboard(
    page: Page, console: Console, live_server: LiveServer, alice: User, store_with_findings: MemoryStore
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/findings")
    axe(page)
    fits(page)
    for key in ("j", "x", "j", "x"):
        press(page, key)
    expect(page.locator("[data-selection-count]")).to_have_text("2 selected")
    axe(page, only=("dark",))
    press(page, "d")
    expect(page.get_by_role("heading", name="Dismiss 2 findings?")).to_be_visible()
    axe(page)
    fits(page)
    page.get_by_label("Why are they harmless?").fill("Test data")
    press(page, "Enter")
    expect(page.get_by_text("Dismissed 2 findings.")).to_be_visible()
    assert states(store_with_findings) == [FindingState.DISMISSED, FindingState.DISMISSED, FindingState.OPEN]
    page.goto(f"{live_server.url}/stores/{store_with_findings.pk}/findings?state=dismissed")
    axe(page)
    fits(page)
    for key in ("j", "x", "r"):
        press(page, key)
    expect(page.get_by_text("1 finding is open again.")).to_be_visible()
    assert not console.unexpected()


@pytest.mark.long
def test_a_value_is_revealed_and_masked_again(
    page: Page, console: Console, live_server: LiveServer, alice: User, store_with_findings: MemoryStore
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    memory = store_with_findings.memories.get(path="/customers/acme.md")
    page.goto(f"{live_server.url}/stores/{store_with_findings.pk}/memories/{memory.pk}")
    expect(page.locator(".lines .masked-value")).to_have_text("[redacted:card]")
    axe(page)
    press(page, "v")
    expect(page.locator(".lines mark")).to_have_text(CARD)
    axe(page)
    fits(page)
    page.get_by_role("link", name="Mask again").click()
    expect(page.locator(".lines .masked-value")).to_be_visible()
    press(page, "e")
    expect(page.get_by_role("button", name="Reveal and edit")).to_be_visible()
    axe(page)
    page.get_by_role("button", name="Reveal and edit").click()
    expect(page.locator("form[data-save]")).to_contain_text(CARD)
    reveals = AuditEntry.objects.of_chain(store_with_findings.pk).filter(command="reveal")
    assert reveals.count() == 2
    assert not console.unexpected()


@pytest.mark.push
def test_rules_are_chosen_with_the_arrow_keys_and_tried(
    page: Page, console: Console, live_server: LiveServer, alice: User, store: MemoryStore
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.pk}/findings/rules")
    page.locator("[name=rule-card]:checked").focus()
    for _ in range(3):
        press(page, "ArrowRight")
    expect(page.locator("[name=rule-card]:checked")).to_have_value("mask")
    axe(page)
    fits(page)
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_text("The rule for 1 kind was changed: Payment card.")).to_be_visible()
    page.get_by_label("Text", exact=True).fill(f"Card {CARD}")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("What would be stored")).to_have_text("Card [redacted:card]")
    axe(page)
    fits(page)
    assert not console.unexpected()
