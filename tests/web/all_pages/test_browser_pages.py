"""Every page in both themes and at all widths: axe finds nothing, nothing overflows, the console stays empty.

The short form looks at each twenty-fourth page, with axe at one width: most share their templates and styles with
others.
"""

from datetime import UTC, datetime

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.demo.load import load
from memoryhub.models import Agent, MemoryStore, User
from tests.support.browser import WIDTHS, Console, axe, fits, press, sign_in_as
from tests.support.fixtures import BY
from tests.support.long import LONG, some
from tests.web.all_pages.every_page import pages

pytestmark = pytest.mark.browser

NOW = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


@pytest.mark.push
@pytest.mark.longest
def test_every_page_is_sound_in_both_themes(
    page: Page, console: Console, live_server: LiveServer, superuser: User
) -> None:
    load(NOW)
    sign_in_as(page.context, superuser, live_server.url)
    for _name, address in some(pages(), 24):
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status == 200, address
        assert page.locator("h1").count() == 1, address
        for width in WIDTHS if LONG else WIDTHS[:1]:
            page.set_viewport_size({"width": width, "height": 900})
            axe(page, always=True)
        fits(page)
        assert not console.unexpected(), (address, console.unexpected())


def test_the_pages_of_a_stranger_are_sound_too(page: Page, live_server: LiveServer) -> None:
    token = people.invite(**(BY | {"at": timezone.now()}), is_superuser=True)[1]
    for address in ("/sign-in", f"/invitations/{token}"):
        page.goto(live_server.url + address)
        axe(page, always=True)
        fits(page)


def test_pages_of_errors_are_sound(page: Page, console: Console, live_server: LiveServer, charlie: User) -> None:
    console.expect("status of 404", "status of 403")
    sign_in_as(page.context, charlie, live_server.url)
    for address in ("/stores/memstore_nowhere/", "/people", "/nothing-here"):
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status in (403, 404)
        axe(page, always=True)
        fits(page)


@pytest.mark.long
def test_the_page_of_an_address_for_forms_and_of_too_many_passwords_are_sound(
    page: Page, console: Console, live_server: LiveServer, alice: User, store: MemoryStore
) -> None:
    console.expect("status of 405", "status of 429")
    for _ in range(20):
        page.goto(f"{live_server.url}/sign-in")
        page.get_by_label("E-mail address").fill(alice.email)
        page.get_by_label("Password").fill("not the one")
        with page.expect_navigation() as answer:
            press(page, "Enter")
        if answer.value.status == 429:
            break
    expect(page.get_by_role("alert")).to_contain_text("Too many tries. Wait")
    axe(page, always=True)
    fits(page)
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.pk}/findings/decide")
    expect(page.get_by_role("heading", name="There is no page at this address")).to_be_visible()
    axe(page, always=True)
    fits(page)


@pytest.mark.long
def test_background_work_and_the_keys_of_somebody_who_leaves_are_sound(
    page: Page, live_server: LiveServer, superuser: User, alice: User, store: MemoryStore, agent: Agent
) -> None:
    now = timezone.now()
    background.note(Outcome("figures", now))
    background.note(Outcome("checkpoints", now, "/data/checkpoints.jsonl: No space left on device.", 3, now))
    keys_and_roles.issue_key(agent, stores=[store], created_by=alice, **(BY | {"at": now}))
    sign_in_as(page.context, superuser, live_server.url)
    page.goto(f"{live_server.url}/settings/background")
    expect(page.get_by_text("No space left on device.")).to_be_visible()
    axe(page, always=True)
    fits(page)
    for address in (f"/people/{alice.pk}/deactivate", f"/stores/{store.pk}/members/{alice.pk}/leaving"):
        page.goto(live_server.url + address)
        expect(page.get_by_role("checkbox", name="Revoke the key")).to_be_checked()
        axe(page, always=True)
        fits(page)


@pytest.mark.long
def test_a_hub_without_stores_says_what_to_do(page: Page, live_server: LiveServer, superuser: User) -> None:
    sign_in_as(page.context, superuser, live_server.url)
    for address in ("/", "/stores", "/agents", "/audit"):
        page.goto(live_server.url + address)
        axe(page, always=True)
    page.goto(live_server.url)
    page.get_by_role("link", name="Create a memory store").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("New memory store")
