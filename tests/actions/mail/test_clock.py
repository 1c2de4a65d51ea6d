"""A clock that was ahead for a while and is right again: digests, warnings, alarms and messages go on at once."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.mail import alarms, digests, removals
from memoryhub.models import Digest, Mail, MailChoice, MailKind, MemoryStore, Role, User
from tests.actions.gardens import LATER, expire, garden
from tests.actions.mail.test_outbox import outgoing, send_all, with_mail
from tests.support.fixtures import BY, new_person

__all__ = ["garden", "outgoing", "with_mail"]
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

BEFORE = LATER - timedelta(days=5)
AHEAD = BEFORE + timedelta(days=400)


def look(at: datetime) -> None:
    """What the background looks for."""
    digests.put_due(at)
    alarms.put_due(at)
    while not removals.put_due(at):
        pass


def waiting(kind: MailKind) -> int:
    return Mail.objects.waiting().filter(kind=kind).count()


def test_what_was_noted_while_the_clock_was_ahead_delays_nothing(
    garden: MemoryStore, superuser: User, outgoing: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = new_person("Ada")
    keys_and_roles.set_role(garden, admin, Role.ADMIN, **BY)
    look(AHEAD)
    monkeypatch.setattr(alarms, "lasting", lambda at: [alarms.DISK])
    look(AHEAD)
    outbox.put(MailKind.TEST, [superuser.pk], AHEAD)

    expire(garden)
    look(BEFORE)
    assert (waiting(MailKind.DIGEST), waiting(MailKind.RETENTION), waiting(MailKind.ALARM)) == (0, 1, 1)
    choices = MailChoice.objects.exclude(digest=Digest.OFF)
    assert choices.exists() and all(choice.next_at < BEFORE + timedelta(days=2) for choice in choices)  # type: ignore[operator]
    look(BEFORE + timedelta(days=1))
    assert waiting(MailKind.DIGEST) == choices.count() and waiting(MailKind.RETENTION) == 1
    send_all(BEFORE + timedelta(days=1))
    assert not Mail.objects.waiting().exists()
    assert any("test message" in message.subject.lower() or "works" in message.body for message in outgoing)
