"""An import in a real browser: brought, compared, chosen for, watched to its end; sound in both themes."""

import re
import threading

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.transfer import importing
from memoryhub.models import Import, MemoryStore, User
from tests.support.browser import axe, sign_in_as
from tests.transfer.hostile import archive
from tests.web.memories.pages import write

pytestmark = pytest.mark.browser


@pytest.fixture
def brought(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("brought") / "project.zip"
    path.write_bytes(archive(("a.md", b"new a\n"), ("b.md", b"b"), ("logo.png", b"\x89PNG\0")))
    return str(path)


def finish() -> None:
    for job in importing.running():
        while importing.step(job, timezone.now()):
            pass


def test_an_import_from_the_upload_to_the_result(
    live_server: LiveServer, page: Page, store: MemoryStore, superuser: User, brought: str
) -> None:
    write(store, "/a.md", "old a\n")
    sign_in_as(page.context, superuser, live_server.url)
    page.goto(f"{live_server.url}/stores/{store.pk}/")
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Choose what to import.")).to_be_visible()
    axe(page)
    page.get_by_label("What to import").set_input_files(brought)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="project.zip")).to_be_visible()
    expect(page.get_by_role("group", name="/a.md")).to_be_visible()
    page.get_by_role("link", name=re.compile("Compare")).click()
    expect(page.locator(".diff-view")).to_contain_text("new")
    axe(page)
    page.get_by_role("link", name="Back to the preview").click()
    with page.expect_response(re.compile("/choose$")):
        page.get_by_role("group", name="/a.md").get_by_label("Replace").check()
    page.reload()
    expect(page.get_by_role("group", name="/a.md").get_by_label("Replace")).to_be_checked()
    axe(page)
    page.get_by_role("button", name="Start the import").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    worker = threading.Thread(target=finish)
    worker.start()
    worker.join()
    expect(page.get_by_text("Replaced").first).to_be_visible()
    expect(page.get_by_role("link", name="Undo")).to_be_visible()
    axe(page)
    assert Import.objects.get().state == "done"
