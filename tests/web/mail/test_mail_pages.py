"""Pages about e-mail: invitations, a forgotten password, what a person gets, one press to end it, and the outbox."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as sent_mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import people, resets, tries
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.mail import choices
from memoryhub.actions.verification import verify
from memoryhub.background import letters, mail as post
from memoryhub.models import HUB, AuditEntry, Digest, Invitation, Mail, MailKind, MemoryStore, Role, User
from memoryhub.operating.logs.lines import WithoutTokens
from tests.support.fixtures import BY, signed_in
from tests.web.accounts.test_sign_in import OTHER, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _with_mail(settings: Any, db: None) -> Any:
    settings.MEMORYHUB_SENDS_MAIL = True
    settings.MEMORYHUB_MAIL_SERVER = {
        "host": "mail.example.com", "port": 587, "user": "hub", "password": "hush", "tls": True, "ssl": False
    }  # fmt: skip
    sent_mail.outbox.clear()
    yield
    assert verify.verify(HUB)[1] is None


def deliver(at: Any = None) -> list[EmailMultiAlternatives]:
    sent_mail.outbox.clear()
    while post.send(at or timezone.now() + timedelta(seconds=1)):
        pass
    return sent_mail.outbox  # type: ignore[return-value]


def link_in(message: EmailMultiAlternatives, part: str) -> str:
    found = re.search(rf"https?://[^/\s]+(/{part}/\S+)", str(message.body))
    assert found, message.body
    return found[1]


def newest(command: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).newest()[0]


# ------------------------------------------------------------------------------------------------ invitations


@pytest.mark.both_databases
def test_an_invitation_arrives_with_its_stores_and_its_link_works(superuser: User, store: MemoryStore) -> None:
    form = {"email": "dora@example.com", "role": Role.CURATOR, "stores": [store.pk], "form": "x"}
    answer = signed_in(superuser).post(reverse("invite_person"), form)
    shown = answer.content.decode()
    assert answer.status_code == 200 and "The hub sends the link to this address by e-mail" in shown
    (message,) = deliver()
    assert message.to == ["dora@example.com"] and message.subject == "An invitation to MemoryHub"
    assert "Support (Curator)" in message.body and "Root invites you" in message.body
    link = link_in(message, "invitations")
    assert link in shown, "the same link can be copied as before"
    client = Client()
    joined = client.post(link, {"name": "Dora", "password": OTHER, "again": OTHER})
    assert joined.status_code == 303
    assert User.objects.get(email="dora@example.com").role_in(store) == Role.CURATOR
    assert not Mail.objects.exclude(nonce="").exists()


@pytest.mark.both_databases
def test_a_withdrawn_invitation_is_not_sent_and_the_database_has_no_token(superuser: User, alice: User) -> None:
    client = signed_in(superuser)
    for user in ("eve@example.com", "eva@example.com"):
        client.post(reverse("invite_person"), {"email": user, "role": Role.VIEWER, "form": user})
    eve = Invitation.objects.get(email="eve@example.com")
    client.post(reverse("withdraw_invitation", args=[eve.pk]))
    tokens = [outbox.token_of(mail.nonce) for mail in Mail.objects.all()]
    assert all(token not in str(list(Mail.objects.values())) for token in tokens)
    assert [message.to for message in deliver()] == [["eva@example.com"]]
    client.post(reverse("password_link", args=[alice.pk]), {"form": "y"})
    (message,) = deliver()
    assert message.to == [alice.email] and message.subject == "Set a new password"


# ------------------------------------------------------------------------------------------------ a forgotten password


def ask(email: str, client: Client | None = None) -> Any:
    return (client or Client()).post(reverse("forgotten"), {"email": email})


def test_a_forgotten_password_is_set_anew_through_the_mailbox(charlie: User) -> None:
    elsewhere = signed_in(charlie)
    assert reverse("forgotten") in Client().get(reverse("sign_in")).content.decode()
    assert ask("Charlie@Example.com").status_code == 200
    entry = newest("request_password")
    assert entry.ok and entry.actor_id is None and "charlie@example.com" in (entry.input or "")
    (message,) = deliver()
    link, client = link_in(message, "password"), Client()
    page = client.get(link)
    assert page.status_code == 200 and page.headers["Referrer-Policy"] == "no-referrer"
    assert "errorlist" in client.post(link, {"password": "short", "again": "short"}).content.decode()
    done = client.post(link, {"password": OTHER, "again": OTHER})
    assert done.status_code == 303 and client.get("/").status_code == 200
    assert newest("set_password").actor_id == charlie.pk
    assert elsewhere.get("/").status_code == 302, "other browsers are signed out"
    assert client.get(link).status_code == 410 and Client().post(link, {"password": OTHER}).status_code == 410
    assert sign_in(Client(), charlie.email, OTHER).status_code == 303


def test_the_link_ends_with_time_a_sign_in_and_a_deactivation(charlie: User, superuser: User) -> None:
    now = timezone.now()
    token = resets.token_for(charlie, now)
    assert resets.user_of(charlie.pk, token, now + timedelta(hours=3, minutes=59)) == charlie
    assert resets.user_of(charlie.pk, token, now + timedelta(hours=4, minutes=1)) is None
    assert resets.user_of(superuser.pk, token, now) is None and resets.user_of(charlie.pk, token + "x", now) is None
    sign_in(Client(), charlie.email)
    assert resets.user_of(charlie.pk, token, now) is None
    ask(charlie.email)
    people.set_active(charlie, False, **BY)
    assert deliver() == [] and not Mail.objects.exists()


def test_an_address_without_an_account_gets_the_same_answer_for_the_same_work(charlie: User) -> None:
    ask("warm@example.com")
    bodies, statements = [], []
    for email in (charlie.email, "nobody@example.com"):
        with CaptureQueriesContext(
            connection,
        ) as seen:
            answer = ask(email)
        bodies.append(re.sub(rb"nonce[^>]*|[\w-]{20,}", b"", answer.content))
        statements.append([re.sub(r"'[^']*'|\d+|NULL|None", "?", query["sql"]) for query in seen])
    assert bodies[0] == bodies[1] and len(statements[0]) == len(statements[1])
    assert [text[:60] for text in statements[0]] == [text[:60] for text in statements[1]]
    assert [message.to for message in deliver()] == [[charlie.email]]


def test_one_mailbox_is_not_flooded_and_the_limit_is_the_same_for_unknown_addresses(charlie: User) -> None:
    for email in (charlie.email, "nobody@example.com"):
        codes = [ask(email).status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429], email
    assert len(deliver()) == 3
    now = timezone.now()
    for number in range(tries.RESETS.free):
        resets.request(f"{number}@example.com", address="203.0.113.9", at=now)
    with pytest.raises(tries.TooManyTries):
        resets.request("one.more@example.com", address="203.0.113.9", at=now)


def test_without_a_mail_server_an_administrator_makes_the_link(charlie: User, settings: Any) -> None:
    settings.MEMORYHUB_SENDS_MAIL = False
    assert "An administrator of the hub can give you a link" in Client().get(reverse("sign_in")).content.decode()
    assert "An administrator of the hub can give you a link" in ask(charlie.email).content.decode()
    assert not Mail.objects.exists() and not AuditEntry.objects.filter(command="request_password").exists()


def test_log_lines_have_no_tokens_of_links(charlie: User) -> None:
    for link in (
        letters.page("reset_password", charlie.pk, resets.token_for(charlie, timezone.now())),
        letters.page("end_mail", choices.link_to_end(charlie, MailKind.DIGEST)),
    ):
        record = logging.LogRecord("django.request", 30, "", 0, "Not Found: %s", (link,), None)
        line = WithoutTokens("%(message)s").format(record)
        assert line.endswith("[token]") and link[-20:] not in line


# ------------------------------------------------------------------------------------------------ what a person gets


def test_a_person_chooses_what_they_get(bob: User, alice: User, superuser: User) -> None:
    client, address = signed_in(bob), reverse("mail_choices")
    page = client.get(address).content.decode()
    assert "Time of the digest" in page and "Alarms of the hub" not in page
    assert "retention removes" not in page, "Bob is an admin of no store"
    assert "Before retention removes something" in signed_in(alice).get(address).content.decode()
    assert "Alarms of the hub" in signed_in(superuser).get(address).content.decode()
    assert client.post(address, {"digest": "daily", "hour": "17", "alarms": "on"}).status_code == 303
    choice = choices.of(bob)
    assert (choice.digest, choice.hour, choice.alarms) == (Digest.DAILY, 17, True)
    assert newest("edit_profile").actor_id == bob.pk and '"email_hour":[8,17]' in (newest("edit_profile").input or "")
    assert client.post(address, {"digest": "hourly", "hour": "25"}).status_code == 200
    assert Client().get(address).status_code == 302


@pytest.mark.both_databases
def test_one_press_ends_one_kind_of_messages_without_a_sign_in(bob: User) -> None:
    link = reverse("end_mail", args=[choices.link_to_end(bob, MailKind.MENTION)])
    client = Client(enforce_csrf_checks=True)
    page = client.get(link)
    assert page.status_code == 200 and "Stop the e-mails for each mention?" in page.content.decode()
    assert choices.of(bob).digest == Digest.AT_ONCE, "programs that follow links in messages change nothing"
    done = client.post(link, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")
    assert done.status_code == 200 and choices.of(bob).digest == Digest.DAILY
    assert newest("edit_profile").actor_id == bob.pk
    whole = reverse("end_mail", args=[choices.link_to_end(bob, MailKind.DIGEST)])
    assert client.post(whole).status_code == 200 and choices.of(bob).digest == Digest.OFF
    entries = AuditEntry.objects.filter(command="edit_profile").count()
    assert client.post(whole).status_code == 200
    assert AuditEntry.objects.filter(command="edit_profile").count() == entries


def test_a_forged_link_ends_nothing(bob: User, charlie: User) -> None:
    token = choices.link_to_end(bob, MailKind.DIGEST)
    for wrong in (
        token[:-1],
        token.replace(bob.pk, charlie.pk),
        token.replace("digest", "alarm"),
        "x",
        f"{bob.pk}-digest",
    ):
        assert Client().post(reverse("end_mail", args=[wrong])).status_code == 404
    assert choices.of(bob).digest == Digest.AT_ONCE and choices.of(charlie).digest == Digest.AT_ONCE


# ------------------------------------------------------------------------------------------------ the outbox


@pytest.mark.both_databases
def test_an_administrator_sees_the_server_and_sends_a_test_message(superuser: User, alice: User, settings: Any) -> None:
    client, address = signed_in(superuser), reverse("hub_mail")
    assert "mail.example.com:587" in client.get(address).content.decode()
    assert "hush" not in client.get(address).content.decode()
    assert client.post(reverse("test_mail")).status_code == 303
    assert "Waiting" in client.get(address).content.decode()
    assert [message.to for message in deliver()] == [[superuser.email]]
    assert "Sent" in client.get(address).content.decode()
    for method in ("get", "post"):
        route = reverse("hub_mail" if method == "get" else "test_mail")
        assert getattr(signed_in(alice), method)(route).status_code == 403
    settings.MEMORYHUB_SENDS_MAIL = False
    shown = client.get(address).content.decode()
    assert "EMAIL_URL" in shown and "pass on alarms" in shown and reverse("webhooks") in shown
    client.post(reverse("test_mail"))
    assert not Mail.objects.waiting().exists()
