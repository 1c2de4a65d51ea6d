"""A mail server that takes a message, refuses it, is silent or is not there; what the outbox keeps."""

import smtplib
import socket
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as sent_mail
from django.utils import timezone

from memoryhub.actions.accounts import people
from memoryhub.actions.core.hub import background, outbox
from memoryhub.actions.mail import sending
from memoryhub.actions.verification import verify
from memoryhub.background import mail as post
from memoryhub.background.runner import Explained, Runner, Task
from memoryhub.models import HUB, Mail, MailKind, MailState, Memory, User
from tests.actions.gardens import garden
from tests.actions.mail.test_outbox import SECRET, memory, named, outgoing, send_all, with_mail
from tests.support.fixtures import AT, BY
from tests.support.mailbox import Mailbox, mailbox, silent_server, texts, use_server
from tests.support.write_guard import arranging

__all__ = ["garden", "mailbox", "memory", "outgoing", "with_mail"]
pytestmark = pytest.mark.django_db


def test_a_message_arrives_in_two_forms_with_the_headers_of_an_automatic_one(
    memory: Memory, alice: User, bob: User, mailbox: Mailbox
) -> None:
    with arranging():
        User.objects.filter(pk=alice.pk).update(name="Ali\u202ece <b>")
    alice.refresh_from_db()
    named(memory, alice)
    send_all()
    (message,) = mailbox.messages
    plain, html = texts(message)
    assert message["to"] == bob.email and message["auto-submitted"] == "auto-generated"
    assert message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    ends = str(message["list-unsubscribe"]).strip(" <>")
    assert "/unsubscribe/" in ends and ends in plain
    assert "&lt;b&gt;" in html and "<b>" not in html and "\u202e" not in plain + html
    assert "<script" not in html and "<img" not in html


@pytest.mark.both_databases
def test_a_slow_or_absent_server_holds_no_request_and_the_message_is_sent_later(
    memory: Memory, alice: User, bob: User, mailbox: Mailbox, settings: Any
) -> None:
    with silent_server() as port:
        use_server(settings, port)
        begun = time.monotonic()
        named(memory, alice)
        outbox.put(MailKind.TEST, [bob.pk], AT)
        assert time.monotonic() - begun < 0.9
        with pytest.raises(Explained, match="does not answer in time"):
            post.send(AT)
    with pytest.raises(Explained, match="no connection"):
        post.send(AT + timedelta(minutes=2))
    tried = list(Mail.objects.order_by("pk").values_list("state", "tries", "problem"))
    assert [state for state, *_ in tried] == ["waiting", "waiting"] and {problem for *_, problem in tried} <= {
        "it does not answer in time", "no connection", ""
    }  # fmt: skip
    assert post.send(AT + timedelta(minutes=2)) == 0, "not at once"
    use_server(settings, mailbox.port)
    send_all(AT + timedelta(minutes=30))
    assert len(mailbox.messages) == 2 and not Mail.objects.waiting().exists()


def test_while_the_server_is_away_the_work_fails_with_one_line_in_the_log(
    bob: User, mailbox: Mailbox, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = listener.getsockname()[1]
    use_server(settings, gone)
    now = [AT]
    task = Task("mail", post.Post(lambda: 0.0).work, aside=True)
    outbox.put(MailKind.TEST, [bob.pk], AT)

    def seconds() -> float:
        return (now[0] - AT).total_seconds()

    runner = Runner([task], lambda: now[0], seconds)

    def run_until(end: int) -> list[bool]:
        """Whether the work was failing, each few seconds."""
        states = []
        while seconds() < end:
            runner.run_due()
            (row,) = background.states()
            states.append(row.failures > 0)
            now[0] += timedelta(seconds=4)
        return states

    assert all(run_until(100)) and len(caplog.records) == 1 and "no connection" in caplog.text
    use_server(settings, mailbox.port)
    run_until(460)
    assert not any(run_until(480)) and len(mailbox.messages) == 1


@pytest.mark.both_databases
def test_a_refused_receiver_does_not_keep_others_from_their_messages(
    alice: User, bob: User, superuser: User, mailbox: Mailbox
) -> None:
    mailbox.refuse = {alice.email: f"550 no such user {alice.email}", bob.email: "451 try later"}
    outbox.put(MailKind.TEST, [alice.pk, bob.pk, superuser.pk], AT)
    send_all()
    assert [message["to"] for message in mailbox.messages] == [superuser.email]
    rows = {row.to_id: row for row in Mail.objects.all()}
    assert (rows[alice.pk].state, rows[alice.pk].problem) == ("failed", "refused with 550")
    assert (rows[bob.pk].state, rows[bob.pk].tries, rows[bob.pk].problem) == ("waiting", 1, "refused with 451")
    mailbox.refuse = {}
    send_all(AT + timedelta(minutes=5))
    assert [message["to"] for message in mailbox.messages] == [superuser.email, bob.email]


def test_only_one_process_sends_a_message_and_one_that_died_is_replaced(bob: User, mailbox: Mailbox) -> None:
    outbox.put(MailKind.TEST, [bob.pk], AT)
    assert len(sending.claim(AT)) == 1 and sending.claim(AT) == []
    assert post.send(AT) == 0
    send_all(AT + sending.LEASE)
    assert len(mailbox.messages) == 1


@pytest.mark.both_databases
def test_a_message_that_cannot_be_written_does_not_hold_the_others(
    bob: User, outgoing: list[sent_mail.EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(post.letters._WRITERS, MailKind.DIGEST, lambda *_: 1 / 0)
    outbox.put(MailKind.DIGEST, [bob.pk], AT)
    outbox.put(MailKind.TEST, [bob.pk], AT)
    send_all()
    assert [message.subject for message in outgoing] == ["Test message of MemoryHub"]
    assert Mail.objects.get(kind=MailKind.DIGEST).problem == "it could not be written"


@pytest.mark.both_databases
def test_ended_messages_are_forgotten_and_old_tries_are_given_up(
    bob: User, outgoing: list[sent_mail.EmailMessage]
) -> None:
    outbox.put(MailKind.TEST, [bob.pk], AT)
    send_all()
    assert sending.forget(AT + timedelta(days=6)) == 0 and sending.forget(AT + timedelta(days=8)) == 1
    outbox.put(MailKind.TEST, [bob.pk], AT)
    mail = Mail.objects.get()
    sending.failed(mail, "no connection", AT + timedelta(days=4), is_final=False)
    assert Mail.objects.get().state == MailState.FAILED


def test_the_outbox_holds_no_text_that_anyone_typed(memory: Memory, alice: User, bob: User, with_mail: None) -> None:
    """So a redaction or an erasure has nothing to remove from it, and a message says only what is there when it is
    sent."""
    named(memory, alice)
    people.invite(email="new@example.com", mails=True, **(BY | {"at": timezone.now()}))
    for row in Mail.objects.all().values():
        assert SECRET not in str(row) and "@" not in str(row) and "/plans" not in str(row)
    for chain in (memory.store_id, HUB):
        assert verify.verify(chain)[1] is None


def test_words_of_smtp_errors_never_reach_the_outbox() -> None:
    said = b"550 bob@example.com is unknown"
    for error in (smtplib.SMTPSenderRefused(550, said, "hub@example.com"), smtplib.SMTPServerDisconnected(str(said)),
                  smtplib.SMTPAuthenticationError(535, said), ConnectionRefusedError(str(said))):  # fmt: skip
        assert "bob" not in post.problem_of(error)


@pytest.mark.both_databases
def test_a_server_that_answers_late_gets_each_message_once(
    bob: User, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 5321 wants ten minutes of patience after a message; the tests' EMAIL_TIMEOUT is one second."""
    mailbox.slow = 1.3
    monkeypatch.setattr(post, "LONGEST_ROUND", 1.0)
    for _ in range(2):
        outbox.put(MailKind.TEST, [bob.pk], AT)
    assert post.send(AT) == 2
    assert list(Mail.objects.order_by("pk").values_list("state", flat=True)) == ["sent", "waiting"], (
        "in time for the lease"
    )
    assert Mail.objects.waiting().get().next_at <= AT + timedelta(minutes=1)
    mailbox.slow = 0
    send_all(AT + timedelta(minutes=1))
    assert len(mailbox.messages) == 2


@pytest.mark.both_databases
def test_a_message_that_is_sent_again_can_be_told_from_another_one(bob: User, mailbox: Mailbox) -> None:
    for _ in range(2):
        outbox.put(MailKind.TEST, [bob.pk], AT)
    send_all()
    with arranging():  # as if the hub had been killed before it could note that the server took it
        one = Mail.objects.filter(pk=Mail.objects.earliest("pk").pk)
        one.update(state=MailState.WAITING, ended_at=None, next_at=AT)
    send_all()
    first, second, again = (message["message-id"] for message in mailbox.messages)
    assert first == again != second and first.endswith(">")
