"""Erasing a customer everywhere in a real browser: few actions, sound in both themes and at every width."""

from typing import Literal

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import Memory, MemoryStore, User
from tests.api.harness import new_store
from tests.support.browser import axe, fits, press, sign_in_as
from tests.web.erasure.erasing import everywhere, text_of, write

pytestmark = pytest.mark.browser


@pytest.mark.long
def test_three_spellings_over_two_stores_take_ten_actions_at_most(
    page: Page, live_server: LiveServer, store: MemoryStore, superuser: User
) -> None:
    write(store, "/visit.md", "Quellenberg came\nQUELLENBERG paid\n")
    write(new_store(), "/deal.md", "a deal with Quellenberg and Quellenburg\n")
    sign_in_as(page.context, superuser, live_server.url)
    page.goto(live_server.url)
    actions = 0

    def choose(role: Literal["button", "option", "checkbox"], name: str) -> None:
        nonlocal actions
        actions += 1
        page.get_by_role(role, name=name).click()

    def type_into(role: Literal["combobox", "textbox"], label: str, text: str) -> None:
        nonlocal actions
        actions += 1
        page.get_by_role(role, name=label).fill(text)

    press(page, "Control+k")
    actions += 1
    type_into("combobox", "Search or go to a page, store, agent, session or path", "Quellenberg")
    choose("option", "Erase “Quellenberg” everywhere…")
    choose("checkbox", "Quellenburg in 1 place")
    choose("button", "Search again with these ticks")
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(5)
    fits(page)
    axe(page)
    type_into("textbox", "Confirmation", "Quellenberg")
    choose("button", "places permanently")
    expect(page.get_by_role("heading", level=1)).to_have_text("Erased from 2 memory stores")
    assert actions <= 10
    fits(page)
    axe(page)
    assert [everywhere(text) for text in ("Quellenberg", "QUELLENBERG", "Quellenburg")] == [[]] * 3
    assert text_of(Memory.objects.at("/visit.md").get()) == "[redacted] came\n[redacted] paid\n"
    assert "uellenb" not in page.url
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Confirmation of an erasure")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_hidden()


@pytest.mark.push
def test_the_tab_does_not_count_on_after_every_place_was_opened_in_another(
    page: Page, live_server: LiveServer, store: MemoryStore, alice: User
) -> None:
    write(store, "/visit.md", "Quellenberg came\n")
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + reverse("erase_everywhere"))
    page.get_by_label("Texts to erase, one per line").fill("Quellenberg")
    page.get_by_role("button", name="Find every place").click()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="See every place").click()
    expect(opened.value.get_by_role("heading", name="Every place with these texts in Support")).to_be_visible()
    expect(page.locator("[data-waits]").first).to_be_hidden()
    expect(page.locator("[data-waits]:visible")).to_have_count(0)
