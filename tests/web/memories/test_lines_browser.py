"""Links to the same lines on another page of a memory."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import MemoryStore, User
from tests.support.browser import sign_in_as
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.mark.push
def test_the_permanent_link_and_who_wrote_it_keep_the_chosen_lines(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    memory = Caller(store, key).create("/a.md", "one\ntwo\nthree\n")
    sign_in_as(page.context, alice, live_server.url)
    address = f"{live_server.url}/stores/{store.id}/memories/{memory.pk}"
    page.goto(f"{address}#L2")
    page.get_by_role("link", name="Permanent link").click()
    page.wait_for_url(f"**/versions/{memory.head_id}#L2")
    page.goto(address)
    page.locator("#L3 > a").first.click()
    page.keyboard.press("y")
    page.wait_for_url(f"**/versions/{memory.head_id}#L3")
    page.goto(f"{address}#L2")
    page.get_by_role("link", name="Who wrote it").click()
    page.wait_for_url("**/blame#L2")
    expect(page.locator(".line-marked")).to_have_count(1)
    page.get_by_role("link", name="Text", exact=True).click()
    page.wait_for_url(f"{address}#L2")
