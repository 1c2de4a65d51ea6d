"""Fills the outbox with messages that are due, and sends them through the mail server, one after another.

If the mail server does not answer, the round ends, and everything is tried again later.
"""

import logging
import smtplib
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import Error
from django.template.loader import render_to_string

from memoryhub.actions.core.hub import outbox
from memoryhub.actions.mail import digests, removals, sending
from memoryhub.background import letters
from memoryhub.background.letters import Letter
from memoryhub.background.runner import Explained, JobFailed
from memoryhub.models import Mail

logger = logging.getLogger(__name__)

LOOK_EVERY = 60.0
"""Seconds between two searches for digests and warnings that are due."""

LONGEST_ROUND = 120.0
"""Seconds after which a round begins no further message. When the lease of the round ends, another process may send the
remaining messages."""


class Post:
    """Sends the messages in the outbox. It remembers when it last searched for messages that are due, and why it could
    not send."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.looked = float("-inf")
        self.down: JobFailed | None = None

    def work(self, now: datetime) -> bool | None:
        """Do one round; return False if more is to be done soon.

        Raises JobFailed while the mail server cannot be used.
        """
        if not outbox.is_on():
            return None
        if self.seconds() - self.looked >= LOOK_EVERY:
            digests.put_due(now)
            if removals.put_due(now):
                self.looked = self.seconds()
        return self._send(now)

    def _send(self, now: datetime) -> bool | None:
        try:
            taken = send(now)
        except Explained as error:
            if self.down is None:
                self.down = JobFailed("mail")
                self.down.__cause__ = error
            raise self.down from error
        if taken:
            self.down = None
            return False
        if self.down is not None and not Mail.objects.waiting().exists():
            self.down = None
        if self.down is not None:
            raise self.down  # the same error again: it is neither logged nor stored again
        return None


def send(at: datetime) -> int:
    """Send messages that are due; return how many were taken from the outbox."""
    claimed = list(sending.claim(at))
    if not claimed:
        return 0
    taken, server = len(claimed), None
    begun = time.monotonic()
    try:
        while claimed and time.monotonic() - begun < LONGEST_ROUND:
            mail = claimed[0]
            if (letter := _letter(mail, at)) is not None:
                server = server or get_connection()
                _send(mail, letter, server, at + timedelta(seconds=time.monotonic() - begun))
            claimed.pop(0)
    except OSError as error:  # smtplib's own errors are of this kind, too
        problem = problem_of(error)
        sending.failed(claimed.pop(0), problem, at, is_final=False)
        raise Explained(f"The mail server cannot be used ({problem}).") from error
    finally:
        if claimed:
            sending.release(claimed, at + timedelta(minutes=sending.DELAYS[0]))
        if server is not None:
            server.close()
    return taken


def _letter(mail: Mail, at: datetime) -> Letter | None:
    """Return a message in words. If there is no message to send, record this and return None."""
    try:
        letter = letters.letter_of(mail, at)
    except Error:
        raise
    except Exception:  # one message must not keep the others from being sent
        logger.exception("A message of the outbox could not be written: %s", mail.pk)
        sending.failed(mail, "it could not be written", at, is_final=False)
        return None
    if letter is None:
        sending.drop(mail)
    return letter


def _send(mail: Mail, letter: Letter, server: BaseEmailBackend, at: datetime) -> None:
    """Send one message, and save the outcome. Raises OSError if the mail server cannot be used."""
    try:
        message_of(mail, letter, server).send()
    except smtplib.SMTPRecipientsRefused as error:
        code = max((code for code, _said in error.recipients.values()), default=0)
        sending.failed(mail, f"refused with {code}", at, is_final=code >= 500)
    except smtplib.SMTPDataError as error:
        sending.failed(mail, f"refused with {error.smtp_code}", at, is_final=error.smtp_code >= 500)
    except ValueError:
        sending.failed(mail, "no valid address", at, is_final=True)
    else:
        sending.sent(mail, at)


def message_of(mail: Mail, letter: Letter, server: BaseEmailBackend) -> EmailMultiAlternatives:
    """Return a message in plain text and simple HTML. Each try to send it has the same Message-ID."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    headers = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}
    headers["Message-ID"] = f"<{mail.pk}.{mail.created_at:%Y%m%d%H%M%S%f}@{domain}>"
    if letter.ends:
        headers |= {"List-Unsubscribe": f"<{letter.ends}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    shown = {"letter": letter}
    text = render_to_string("mail/letter.txt", shown)
    message = EmailMultiAlternatives(letter.subject, text, to=[letter.to], headers=headers, connection=server)
    message.attach_alternative(render_to_string("mail/letter.html", shown), "text/html")
    return message


def problem_of(error: BaseException) -> str:
    """Return in a few words why the mail server cannot be used. The words of the server are left out, because they may
    name an address."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "it refuses the password"
    if isinstance(error, smtplib.SMTPSenderRefused):
        return f"it refuses the sender with {error.smtp_code}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "it has no TLS or no sign-in"
    if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib wraps some of them
        return "it does not answer in time"
    if isinstance(error, smtplib.SMTPException):
        return "it does not speak SMTP, or hung up"
    return "no connection"
