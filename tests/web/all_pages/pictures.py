"""Pictures of every page on the demo's data, at both widths and in both themes, and those of the guide.

`make pictures` runs this; it is no test and is not collected with them. MEMORYHUB_PICTURES names the directory.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.demo.load import load
from memoryhub.models import MemoryStore, User
from memoryhub.pure.conversation import guidance
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import events, started, worked
from tests.support.browser import sign_in_as
from tests.web.all_pages.every_page import pages

pytestmark = pytest.mark.browser

DIRECTORY = Path(os.environ.get("MEMORYHUB_PICTURES", "pictures"))
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "pictures"
WIDTHS, THEMES = {1440: 900, 390: 844}, ("light", "dark")
OF_THE_GUIDE = frozenset((
    "overview", "store-overview", "review", "blame", "readers-of-a-line", "session", "moment", "changes",
    "undo-session", "search-found", "versions", "compare-split", "store", "memory", "trash", "store-audit",
    "today", "take-out-instructions", "proposal-1", "edit-path-rules",
))  # fmt: skip


NOTES = "# Ticket 4711\n\n- The lamp of order 93 arrived broken\n- Policy: refund within 30 days\n- Status: drafted\n"
CLEARED = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 4, "cleared_input_tokens": 9_000}
CLAUDE = (
    Turn([say("Let me check my memory for previous context."), call("t1", command="view", path="/memories")], 2_120),
    Turn([call("t2", command="create", path="/memories/tickets/4711.md", file_text=NOTES)], 3_020, 210),
    Turn([say("I wrote down where I am. Here is a draft:\n\n> Dear Dana, I am sorry that the lamp arrived broken."
              " We refund order 93 today."),
          call("t3", command="str_replace", path="/memories/tickets/4711.md", old_str="Status: drafted",
               new_str="Status: sent\n- Next: check the refund on Friday")], 14_300, 1_425),
    Turn([call("t4", command="view", path="/memories/policies/refunds.md")], 5_400, 40, edits=(CLEARED,)),
    Turn([say("The ticket is answered. On Friday I check that the refund arrived.")], 6_100, 160),
)  # fmt: skip
"""What Claude does in the picture of a run."""
TIDY = (
    Turn([say("I read everything first."), call("t1", command="view", path="/memories")], 2_120),
    Turn([call("t2", command="rename", old_path="/memories/customer_service_guidelines.xml",
               new_path="/memories/policies/guidelines.xml"),
          call("t3", command="create", path="/memories/index.md",
               file_text="# Where things are\n\n- customers: one file each\n- policies: what is agreed\n")],
         3_020, 210),
    Turn([say("I put the guidelines to the policies, and wrote an index.")], 4_100, 60),
)  # fmt: skip
"""What Claude does in the picture of a proposal after tidying."""


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


def test_take_the_picture_of_a_claude_run(demo: Page, live_server: LiveServer, superuser: User, settings: Any) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    store = MemoryStore.objects.get(name="Customer service")
    with claude_api(*CLAUDE) as api:
        run = worked(api, started(store, superuser, "Answer the ticket of Dana: the lamp of order 93 arrived broken."))
    demo.emulate_media(color_scheme="light", reduced_motion="reduce")
    demo.set_viewport_size({"width": 1180, "height": 900})
    demo.goto(f"{live_server.url}/stores/{store.id}/claude/{run.pk}")
    demo.wait_for_timeout(300)
    demo.screenshot(path=GUIDE / "claude-run.png")
    with claude_api(*TIDY) as api:
        run = worked(api, started(store, superuser, guidance.REORGANISE, copies=True, proposes=True))
    number = events(run)[-1].content["number"]
    demo.goto(f"{live_server.url}/stores/{store.id}/proposals/{number}")
    demo.wait_for_timeout(300)
    demo.screenshot(path=GUIDE / "claude-tidy.png")
