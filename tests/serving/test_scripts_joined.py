"""The joined script works as its parts do: pages of a served hub in a browser, without a message in its console."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.server import served
from tests.support.browser import press

pytestmark = pytest.mark.browser


@pytest.mark.push
def test_the_joined_scripts_and_styles_of_served_pages_work(browser: Browser, tmp_path: Path) -> None:
    messages: list[str] = []
    with served(tmp_path) as server:
        store, _ = server.new_store()
        link = re.search(r"http://\S+/invitations/\S+", server.log.read_text())
        assert link is not None
        page = browser.new_context().new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(link[0])
        for name, value in {"email": "ada@example.com", "name": "Ada"}.items():
            page.fill(f"input[name={name}]", value)
        for name in ("password", "again"):
            page.fill(f"input[name={name}]", "correct horse battery")
        page.press("input[name=again]", "Enter")
        page.wait_for_url(lambda url: "invitations" not in url)
        page.goto(f"http://127.0.0.1:{server.port}/stores/{store}")
        assert page.locator("head link[rel=stylesheet]").count() == 1
        press(page, "?")
        page.locator("dialog[open]").wait_for()
        page.context.close()
    assert messages == []
