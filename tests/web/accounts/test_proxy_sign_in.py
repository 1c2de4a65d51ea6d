"""Signing in by the header of a trusted proxy, and by no one else's."""

from typing import Any

import pytest
from django.test import Client

from memoryhub import checks
from memoryhub.models import HUB, AuditEntry, User
from tests.support.fixtures import PASSWORD, signed_in
from tests.support.write_guard import arranging
from tests.web.common.test_fresh import INVITES, asked

pytestmark = pytest.mark.django_db

PROXY = {"REMOTE_ADDR": "10.0.0.9", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}


@pytest.fixture(autouse=True)
def _by_header(settings: Any) -> None:
    settings.MEMORYHUB_PROXY_EMAIL_HEADER, settings.TRUSTED_PROXIES = "Remote-Email", ["10.0.0.0/24"]


def who(client: Client, email: str = "", **more: str) -> str:
    named = {"HTTP_REMOTE_EMAIL": email} if email else {}
    response = client.get("/account", **named, **(PROXY | more))
    return response.context["request"].user.email if response.status_code == 200 else ""


def test_a_trusted_proxy_names_who_is_signed_in(charlie: User, bob: User) -> None:
    client = Client()
    assert who(client, "Charlie@Example.com") == charlie.email
    entry = AuditEntry.objects.of_chain(HUB).newest()[0]
    assert (entry.command, entry.actor_id) == ("sign_in", charlie.id) and "192.0.2.7" in str(entry.input)
    count = AuditEntry.objects.count()
    assert who(client, charlie.email) == charlie.email and AuditEntry.objects.count() == count
    assert who(client, bob.email) == bob.email, "another person at the proxy is another person here"
    assert who(client) == ""


@pytest.mark.parametrize("sender", ["192.0.2.7", "10.0.1.1", ""])
def test_nobody_else_names_anyone(charlie: User, sender: str) -> None:
    client = Client()
    assert who(client, charlie.email, REMOTE_ADDR=sender) == ""
    assert who(client, charlie.email) == charlie.email
    assert who(client, charlie.email, REMOTE_ADDR=sender) == "", "not even with the cookie"


def test_unknown_deactivated_and_several_names_sign_nobody_in(charlie: User) -> None:
    for email in ("nobody@example.com", f"{charlie.email}, root@example.com", "\0", "x"):
        assert who(Client(), email) == ""
    assert User.objects.count() == 1


def test_a_local_sign_in_is_left_alone_and_without_the_setting_the_header_says_nothing(
    charlie: User, bob: User, settings: Any
) -> None:
    assert who(signed_in(bob), charlie.email) == who(signed_in(bob)) == bob.email
    settings.MEMORYHUB_PROXY_EMAIL_HEADER = ""
    assert who(Client(), charlie.email) == ""


def test_a_header_needs_a_trusted_proxy(settings: Any) -> None:
    settings.TRUSTED_PROXIES = []
    assert "memoryhub.E045" in {check.id for check in checks.environment()}


def test_a_name_in_a_header_proves_nothing_where_there_is_a_password(superuser: User) -> None:
    client, by_proxy = Client(), PROXY | {"HTTP_REMOTE_EMAIL": superuser.email}
    assert who(client, superuser.email) == superuser.email
    kept = asked(client.post("/people/invite", INVITES, **by_proxy))
    client.post("/sign-out", **by_proxy)
    asked(client.post("/people/invite", INVITES, **by_proxy))
    done = client.post("/people/invite", kept | {"proof": PASSWORD}, **by_proxy)
    assert "/invitations/" in done.content.decode()
    superuser.set_unusable_password()
    with arranging():
        superuser.save()
    other = INVITES | {"email": "eve@example.com", "form": "f2"}
    assert "/invitations/" in Client().post("/people/invite", other, **by_proxy).content.decode(), "nothing else to ask"
