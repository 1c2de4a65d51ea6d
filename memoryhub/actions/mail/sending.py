"""The outbox: which messages are to be sent now, and the result of each attempt."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import connection

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Mail, MailState

LEASE = timedelta(minutes=15)
"""For this time after a process has claimed a message, no other process sends it."""
DELAYS = (1, 5, 15, 60, 240)
"""Minutes until the next try of a message, after each failure; after that, always the last of these delays."""
GIVE_UP = timedelta(days=3)
KEPT = timedelta(days=7)
"""How long a message is tried, and how long the row of a message that was sent or has failed is kept."""


def claim(at: datetime, most: int = 20) -> Sequence[Mail]:
    """Return at most `most` messages that are due. For LEASE from now, no other process sends them."""
    if not Mail.objects.due(at).exists():
        return []
    with writing():
        may_skip = connection.features.has_select_for_update_skip_locked
        due = list(
            Mail.objects.due(at).select_for_update(skip_locked=may_skip, of=("self",)).select_related("to")[:most]
        )
        Mail.objects.filter(pk__in=[mail.pk for mail in due]).update(next_at=at + LEASE)
    return due


def release(mails: Sequence[Mail], at: datetime) -> None:
    """Make claimed messages due again at once, because they were not tried."""
    with writing():
        Mail.objects.filter(pk__in=[mail.pk for mail in mails]).update(next_at=at)


def drop(mail: Mail) -> None:
    """Delete a message that is no longer needed."""
    with writing():
        Mail.objects.filter(pk=mail.pk).delete()


def sent(mail: Mail, at: datetime) -> None:
    """Note that the mail server has accepted a message."""
    _end(mail, MailState.SENT, "", at)


def failed(mail: Mail, problem: str, at: datetime, *, is_final: bool) -> None:
    """Note why a message could not be sent.

    It is tried again later, unless the mail server refused it permanently (`is_final`) or it is older than GIVE_UP.
    """
    if is_final or at - mail.created_at > GIVE_UP:
        _end(mail, MailState.FAILED, problem, at)
        return
    later = at + timedelta(minutes=DELAYS[min(mail.tries, len(DELAYS) - 1)])
    with writing():
        Mail.objects.filter(pk=mail.pk).update(tries=mail.tries + 1, problem=problem[:40], next_at=later)


def _end(mail: Mail, state: MailState, problem: str, at: datetime) -> None:
    with writing():
        Mail.objects.filter(pk=mail.pk).update(
            state=state, problem=problem[:40], tries=mail.tries + 1, ended_at=at, nonce=""
        )


def forget(at: datetime, most: int = 1_000) -> int:
    """Delete at most `most` messages that ended more than KEPT ago. Return how many were deleted.

    A message ends when it is sent, or has failed for the last time.
    """
    with writing():
        old = Mail.objects.filter(ended_at__lt=at - KEPT).order_by("ended_at").values_list("pk", flat=True)[:most]
        return Mail.objects.filter(pk__in=list(old)).delete()[0]
