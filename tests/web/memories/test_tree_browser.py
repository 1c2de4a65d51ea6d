"""The list of a directory on a narrow screen."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import MemoryStore, User
from tests.support.browser import sign_in_as
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


def test_a_name_beside_marks_is_not_set_letter_beneath_letter(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    Caller(store, key).create("/bank_account.md", "IBAN: DE89 3704 0044 0532 0130 00\n")
    sign_in_as(page.context, alice, live_server.url)
    page.set_viewport_size({"width": 320, "height": 844})
    page.goto(f"{live_server.url}/stores/{store.id}")
    row = page.locator(".entry", has=page.locator(".marks"))
    name = row.locator(".row-link").bounding_box()
    assert name is not None and name["height"] < 50, "two lines at most"
