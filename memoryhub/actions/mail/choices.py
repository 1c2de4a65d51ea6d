"""The choices of each person about e-mail, and the time of the next digest."""

import zoneinfo
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django.core.signing import BadSignature, Signer

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Digest, Door, MailChoice, MailKind, User

_SALT = "memoryhub.unsubscribe"

ENDED: Mapping[str, Mapping[str, Any]] = {
    MailKind.DIGEST: {"digest": Digest.OFF},
    MailKind.MENTION: {"digest": Digest.DAILY},
    MailKind.RETENTION: {"warnings": False},
    MailKind.ALARM: {"alarms": False},
}
"""The kinds of messages that a person can end with one click, and the choice that ends each of them."""


def of(user: User) -> MailChoice:
    """Return the choices of a person, or an unsaved row with the defaults if the person has made none."""
    return MailChoice.objects.filter(pk=user.pk).first() or MailChoice(user=user)


def wants(user: User, kind: str) -> bool:
    """Return whether a person wants messages of this kind. `kind` is a key of `ENDED`."""
    choice = of(user)
    if kind == MailKind.DIGEST:
        return choice.digest != Digest.OFF
    if kind == MailKind.MENTION:
        return choice.digest == Digest.AT_ONCE
    return choice.warnings if kind == MailKind.RETENTION else choice.alarms


def save(user: User, wanted: Mapping[str, Any], *, at: datetime) -> None:
    """Store the choices of a person. The entry has each changed choice, before and after.

    Without a change, nothing is written.
    """
    with writing():
        head = audit.lock_hub()  # first, so that two requests do not both change the same earlier choices
        choice = of(user)
        changed = {name: [getattr(choice, name), value] for name, value in wanted.items()}
        changed = {f"email_{name}": pair for name, pair in changed.items() if pair[0] != pair[1]}
        if not changed:
            return
        MailChoice.objects.update_or_create(user=user, defaults={**wanted, "next_at": None})
        act = Act(Actor.person(user), Door.WEB, at)
        audit.append(head, act, Record("edit_profile", input=audit.to_json(changed)))


def link_to_end(user: User, kind: str) -> str:
    """Return the token of a link with which a person can end messages of this kind. The link needs no sign-in."""
    return Signer(salt=_SALT).sign(f"{user.pk}-{kind}")


def ended_by(token: str) -> tuple[User, str] | None:
    """Return (person, kind of messages) of a token from `link_to_end`.

    None if the token is not valid, or if the person is no longer active.
    """
    try:
        user_id, _dash, kind = Signer(salt=_SALT).unsign(token).rpartition("-")
    except BadSignature:
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return (user, kind) if user is not None and kind in ENDED else None


def next_digest(choice: MailChoice, after: datetime) -> datetime:
    """Return the next time of the person's digest after `after`."""
    try:
        zone = zoneinfo.ZoneInfo(choice.user.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        zone = zoneinfo.ZoneInfo("UTC")
    day = after.astimezone(zone).date() - timedelta(days=1)
    while True:
        moment = datetime.combine(day, time(choice.hour), zone)
        if moment.timestamp() > after.timestamp():
            return moment
        day += timedelta(days=1)
