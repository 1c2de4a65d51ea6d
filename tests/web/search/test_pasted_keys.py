"""A pasted key leads to the page that revokes it; no address, page or log has the key."""

import logging
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Key, MemoryStore, User
from tests.support.browser import press, sign_in_as
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.web.memories.pages import new_curator

pytestmark = pytest.mark.django_db


def palette(client: Client, key: str) -> str:
    """What the palette shows for a key, as its script asks."""
    query = {"q": f"mh_…{key[-4:]}"}
    return client.get(reverse("palette"), query, headers={"hx-request": "true"}).content.decode()


@pytest.mark.both_databases
def test_a_key_is_revoked_by_who_may_and_shown_to_who_may_see_it(
    store: MemoryStore, key: str, alice: User, charlie: User
) -> None:
    issued = Key.objects.get()
    revoke, agent = reverse("revoke_key", args=[issued.pk]), reverse("agent", args=[issued.agent_id])
    html = palette(signed_in(alice), key)
    assert f"Revoke this key: …{issued.hint} of Support bot" in html and revoke in html
    assert reverse("erase_everywhere") in html and "Erase “" not in html and "Search memories" not in html
    html = palette(signed_in(new_curator(store)), key)
    assert revoke not in html and agent in html and f"The key …{issued.hint} of Support bot" in html
    html = palette(signed_in(charlie), key)
    assert "You may see no key that ends with" in html and issued.pk not in html and agent not in html
    keys_and_roles.revoke_key(issued, **BY)
    html = palette(signed_in(alice), key)
    assert "is already revoked" in html and revoke not in html


@pytest.mark.push
@pytest.mark.both_databases
@in_turn("form", ["{}", "…{}", "...{}", "mh_{}", "mh_…{}", " {} "])
def test_the_end_of_a_key_finds_it_however_it_is_written(
    store: MemoryStore, key: str, alice: User, charlie: User, form: str
) -> None:
    typed, issued = form.format(key[-4:]), Key.objects.get()
    seen, foreign = (
        signed_in(user).get(reverse("palette"), {"q": typed}).content.decode() for user in (alice, charlie)
    )
    assert f"Revoke this key: …{issued.hint} of Support bot" in seen
    assert issued.pk not in foreign
    assert "Support bot" in signed_in(alice).get(reverse("agents"), {"q": typed}).content.decode()
    assert "Support bot" not in signed_in(charlie).get(reverse("agents"), {"q": typed}).content.decode()
    other = "zzzz" if key[-4:] != "zzzz" else "yyyy"
    assert "of Support bot" not in signed_in(alice).get(reverse("palette"), {"q": other}).content.decode()


@pytest.mark.parametrize("route", ["palette", "search", "audit", "review"])
def test_no_answer_repeats_a_key_in_the_address(
    store: MemoryStore, key: str, alice: User, route: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = signed_in(alice)
    with caplog.at_level(logging.DEBUG):
        answer = client.get(f"{reverse(route)}?q=a+{key}+b")
    assert answer.headers["Location"] == f"{reverse('palette')}?q={quote(f'mh_…{key[-4:]}')}"
    page = client.get(answer.headers["Location"]).content.decode()
    assert "Revoke this key" in page and key not in page and key not in caplog.text


@pytest.mark.browser
def test_a_pasted_key_leaves_the_browser_in_no_address(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(live_server.url + reverse("search"))
    press(page, "Control+k")
    page.get_by_role("combobox", name="Search or go to a page").fill(key)
    expect(page.get_by_role("option", name="Revoke this key")).to_be_visible()
    press(page, "Control+Enter")
    expect(page.get_by_role("link", name="Revoke this key")).to_be_visible()
    for address in (reverse("search"), reverse("find", args=[store.pk])):
        page.goto(live_server.url + address)
        page.locator("main input[name=q]").fill(f"see {key}")
        page.wait_for_timeout(300)
        press(page, "Enter")
        expect(page.get_by_role("link", name="Revoke this key")).to_be_visible()
    page.get_by_role("link", name="Revoke this key").click()
    expect(page.get_by_role("heading", name="Revoke a key")).to_be_visible()
    assert not [url for url in asked if key[:20] in url]
