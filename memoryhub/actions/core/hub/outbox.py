"""Puts e-mails into the outbox, in the transaction of the act that they are about. The background work sends them.

The outbox stores no words: a message is written when it is sent (see `models.Mail`).
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.utils.crypto import salted_hmac

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Mail, MailKind

_SALT = "memoryhub.outbox.token"


def is_on() -> bool:
    """Return whether the hub sends e-mail."""
    return bool(settings.MEMORYHUB_SENDS_MAIL)


def put(
    kind: MailKind, to: Iterable[str | None], at: datetime, *, store: str = "", about: str = "", nonce: str = ""
) -> None:
    """Put a message for each of the people `to` (ids) into the outbox. Do nothing without a mail server.

    For the other parameters, see `models.Mail`.
    """
    if not is_on():
        return
    with writing():
        Mail.objects.bulk_create(
            Mail(kind=kind, to_id=person, store=store, about=about, nonce=nonce, created_at=at, next_at=at)
            for person in to
        )


def new_nonce() -> str:
    """Return a random text from which `token_of` makes the token of a link."""
    return secrets.token_urlsafe(24)


def token_of(nonce: str) -> str:
    """Return the token that belongs to a nonce. It can be made only with SECRET_KEY, which is not in the database."""
    return salted_hmac(_SALT, nonce, algorithm="sha256").hexdigest()
