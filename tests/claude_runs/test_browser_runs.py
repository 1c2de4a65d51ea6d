"""A Claude run in a browser: it is started, followed, reloaded, stopped, continued, looked at, and undone."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.background.claude_runs.taking import Taker
from memoryhub.background.runner import Report
from memoryhub.models import Memory, MemoryStore, User
from tests.claude_runs.claude_api import KEY, ClaudeApi, Turn, call, claude_api, say
from tests.support.browser import axe, fits, sign_in_as

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CREATE = call("toolu_1", command="create", path="/memories/ticket.md", file_text="# Ticket\n\nThe lamp is broken.\n")
EDIT = call("toolu_2", command="str_replace", path="/memories/ticket.md", old_str="is broken", new_str="was replaced")
SCRIPT = (
    Turn([say("I write down what I know."), CREATE], 900, 30),
    Turn([say("Now I think about it for a long time, and a person may stop me here."), EDIT], 1_400, 40, pauses_at=0),
    Turn([say("I go on, **briefly**."), EDIT], 1_500, 20),
    Turn([say("Done.")], 1_700, 10),
)


@pytest.fixture
def api(settings: Any) -> Iterator[ClaudeApi]:
    """The stand-in, and a worker of the hub that asks it."""
    stop = threading.Event()
    with claude_api(*SCRIPT) as api:
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = KEY, api.url
        thread = threading.Thread(target=Taker(Report("claude_runs")).run, args=(stop,))
        thread.start()
        yield api
        api.go_on.set()
        stop.set()
        thread.join()


def test_a_run_is_followed_stopped_continued_and_undone(
    page: Page, live_server: LiveServer, store: MemoryStore, alice: User, api: ClaudeApi
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.id}/claude")
    axe(page)
    page.get_by_role("link", name="Run Claude").click()
    axe(page)
    fits(page)
    page.get_by_label("Task").fill("Help me respond to this customer service ticket.")
    page.get_by_role("button", name="Start").click()

    state = page.locator("#claude-actions .badge")
    expect(page.locator("#claude-talk")).to_contain_text("Now I think")
    expect(page.locator("#claude-talk .diff-view")).to_contain_text("The lamp is broken.")
    expect(state).to_have_text("Running")
    page.reload()
    expect(page.locator("#claude-talk")).to_contain_text("Now I think")
    expect(page.locator("#claude-talk .diff-view")).to_have_count(1)

    page.get_by_role("button", name="Stop").click()
    expect(state).to_have_text("Stopped")
    expect(page.locator("#claude-talk")).to_contain_text("broke off")
    api.go_on.set()
    page.get_by_label("Another message").fill("Go on, but briefly.")
    page.get_by_role("button", name="Continue").click()
    expect(state).to_have_text("Finished")
    expect(page.locator("#claude-talk strong")).to_have_text("briefly")
    expect(page.locator("#claude-talk .diff-view")).to_have_count(2)
    expect(page.locator("#context-head")).to_have_text("The context, answer by answer")
    axe(page)
    fits(page)
    assert Memory.objects.select_related("text").get(store=store).text.content.endswith("was replaced.\n")

    with page.expect_navigation():
        page.locator("#claude-talk").get_by_role("link", name="version 2").click()
    page.go_back()
    page.get_by_role("link", name="Undo everything it wrote").click()
    page.locator(".undo-form button[type=submit], .undo-form .button-primary, .undo-form .button-danger").first.click()
    expect(page.locator(".banner-success")).to_be_visible()
    assert Memory.objects.get(store=store).deleted_at is not None
