"""An administrator's path: a first webhook, its secret, a test that arrives, one that fails, and sending it again."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.webhooks import send
from memoryhub.models import MemoryStore, User, Webhook
from tests.support.browser import axe, fits, sign_in_as
from tests.webhooks.hub import FAST
from tests.webhooks.receivers import receiver, status

pytestmark = pytest.mark.browser


def is_sound(page: Page) -> None:
    axe(page)
    fits(page)


def deliver(hook: Webhook) -> None:
    assert send.work(hook.pk, FAST, timezone.now, 10) == 1


@pytest.mark.long
def test_from_a_first_webhook_to_sending_again(
    page: Page, live_server: LiveServer, superuser: User, store: MemoryStore
) -> None:
    sign_in_as(page.context, superuser, live_server.url)
    page.goto(live_server.url + reverse("edit_store", args=[store.pk]))
    page.get_by_role("link", name="Webhooks", exact=True).click()
    expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()
    is_sound(page)
    page.get_by_role("link", name="New webhook").click()
    with receiver() as there:
        page.get_by_role("textbox", name="Name").fill("Chat")
        page.get_by_label("Address", exact=True).fill(there.url)
        page.get_by_role("button", name="Create the webhook").click()
        expect(page.get_by_text("does not begin with https://")).to_be_visible()
        is_sound(page)
        page.get_by_label("Allow a private address").check()
        page.get_by_label("Findings were dismissed").check()
        page.get_by_role("button", name="Create the webhook").click()
        expect(page.locator("#secret")).to_contain_text("whsec_")
        is_sound(page)
        page.get_by_role("link", name="I have copied the secret").click()
        hook = Webhook.objects.get()
        assert hook.events == ["finding.dismissed", "finding.opened", "proposal.opened", "review.needed"]

        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_text("This delivery has not been tried yet.")).to_be_visible()
        there.answer = status(302, Location="/elsewhere")
        deliver(hook)
        expect(page.get_by_text("does not follow redirects")).to_be_visible()
        is_sound(page)
        page.get_by_role("link", name="Chat").click()
        expect(page.get_by_text("No delivery has succeeded since")).to_be_visible()
        is_sound(page)
        page.get_by_role("link", name="Test event").click()
        there.answer = status(204)
        page.get_by_role("button", name="Send now").click()
        deliver(hook)
        expect(page.locator("#tries .badge-ok")).to_be_visible()
        assert len(there.arrived) == 2
    page.get_by_role("link", name="Chat").click()
    expect(page.get_by_text("Delivering")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("A person paused this webhook.")).to_be_visible()
    is_sound(page)
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete this webhook").click()
    expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()
