"""A person in a browser: a passkey, a sign-in with it, a proof with it, the list of browsers, and a code of an app."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import BrowserSession, Invitation, User
from memoryhub.pure import totp
from tests.support.browser import Console, axe
from tests.support.fixtures import PASSWORD
from tests.support.write_guard import arranging

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_passkey_signs_in_and_proves_who_is_there(
    page: Page, context: BrowserContext, console: Console, live_server: LiveServer, superuser: User, settings: Any
) -> None:
    hub = live_server.url.replace("127.0.0.1", "localhost")
    settings.MEMORYHUB_URL = hub
    cdp = context.new_cdp_session(page)
    cdp.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
               "isUserVerified": True, "automaticPresenceSimulation": True}  # fmt: skip
    cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})

    page.goto(f"{hub}/sign-in")
    page.get_by_label("E-mail address").fill(superuser.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.goto(f"{hub}/account/proofs")
    page.get_by_label("Name of the new passkey").fill("My laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("button", name="Remove My laptop")).to_be_visible()
    axe(page)

    page.goto(f"{hub}/account/browsers")
    expect(page.get_by_text("this browser")).to_have_count(1)
    axe(page)
    context.clear_cookies()
    page.goto(f"{hub}/sign-in?next=/people")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", name="People", level=1)).to_be_visible()

    with arranging():
        BrowserSession.objects.update(confirmed_at=timezone.now() - timedelta(hours=1))
    page.get_by_role("textbox", name="E-mail address", exact=True).fill("dora@example.com")
    page.get_by_label("Administrator of the hub").check()
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_role("heading", name="Is it you?")).to_be_visible()
    axe(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("/invitations/").first).to_be_visible()
    assert Invitation.objects.get().is_superuser

    page.goto(f"{hub}/account/browsers")
    page.get_by_role("button", name="Sign out everywhere else").click()
    expect(page.get_by_text("1 browser is signed out.")).to_be_visible()
    assert BrowserSession.objects.count() == 1
    _signs_in_with_a_code(page, context, hub, superuser)


def _signs_in_with_a_code(page: Page, context: BrowserContext, hub: str, user: User) -> None:
    """Add an authenticator app, then sign in with the password and its next code."""
    page.goto(f"{hub}/account/proofs")
    page.get_by_role("link", name="Add an app").click()
    secret = page.get_by_role("main").get_by_role("code").inner_text()
    page.get_by_label("Code").fill(totp.code_of(secret, int(time.time()) // totp.PERIOD))
    axe(page)
    page.get_by_role("button", name="Add the app").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    context.clear_cookies()
    page.goto(f"{hub}/sign-in?next=/people")
    page.get_by_label("E-mail address").fill(user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Second step")).to_be_visible()
    axe(page)
    page.get_by_label("Code").fill("000 000")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("This code is not right")).to_be_visible()
    page.get_by_label("Code").fill(totp.code_of(secret, int(time.time()) // totp.PERIOD + 1))
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="People", level=1)).to_be_visible()
