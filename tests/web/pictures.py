"""Pictures of every page on the demo's data, at both widths and in both themes, and those of the guide.

`make pictures` runs this; it is no test and is not collected with them. MEMORYHUB_PICTURES names the directory.
"""

import os
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.demo.load import load
from memoryhub.models import User
from tests.browser import sign_in_as
from tests.web.every_page import pages

pytestmark = pytest.mark.browser

DIRECTORY = Path(os.environ.get("MEMORYHUB_PICTURES", "pictures"))
GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "pictures"
WIDTHS, THEMES = {1440: 900, 390: 844}, ("light", "dark")
OF_THE_GUIDE = frozenset((
    "overview", "store-overview", "review", "blame", "readers-of-a-line", "session", "moment", "changes",
    "undo-session", "search-found", "versions", "compare-split", "store", "memory", "trash", "store-audit",
    "today", "take-out-instructions", "proposal-1", "edit-path-rules",
))  # fmt: skip


@pytest.fixture
def demo(live_server: LiveServer, superuser: User, page: Page) -> Page:
    """A browser of a signed-in superuser on a hub with the demo."""
    load(timezone.now())
    sign_in_as(page.context, superuser, live_server.url)
    page.set_default_timeout(20_000)
    return page


def test_take_pictures_of_every_page(demo: Page, live_server: LiveServer) -> None:
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    only = os.environ.get("MEMORYHUB_PICTURES_OF", "")
    for name, address in pages():
        if only and only not in name:
            continue
        for theme in THEMES:
            demo.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            for width, height in WIDTHS.items():
                demo.set_viewport_size({"width": width, "height": height})
                demo.goto(live_server.url + address)
                demo.wait_for_timeout(150)
                demo.screenshot(path=DIRECTORY / f"{name}-{width}-{theme}.png", full_page=True)


def test_take_the_pictures_of_the_guide(demo: Page, live_server: LiveServer) -> None:
    GUIDE.mkdir(parents=True, exist_ok=True)
    demo.emulate_media(color_scheme="light", reduced_motion="reduce")
    demo.set_viewport_size({"width": 1180, "height": 760})
    for name, address in pages():
        if name in OF_THE_GUIDE:
            demo.goto(live_server.url + address)
            demo.wait_for_timeout(200)
            demo.screenshot(path=GUIDE / f"{name}.png")
