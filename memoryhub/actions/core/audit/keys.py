"""The hub's audit keys: the current key, outside the database, and older keys, which only verify.

The older keys are in the database, encrypted with the current key. Values that must survive a rotation are derived from
the first key.
"""

import base64
import hashlib
import json
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import OperationalError

from memoryhub.models import HUB, AuditChain, Installation
from memoryhub.pure import chain


class Older(NamedTuple):
    """An older audit key, and the time (ISO 8601) at which it was replaced."""

    name: str
    key: str
    until: str


class Replaced(OperationalError):
    """The audit key was rotated while this process ran with the older one."""

    def __init__(self) -> None:
        super().__init__(
            "The audit key was rotated while this process ran: nothing was written. Stop it, give it the new audit key,"
            " and start it again"
        )


class Known(NamedTuple):
    """The older keys that the hub still has, oldest first. `is_complete` is False if some were lost."""

    keys: tuple[Older, ...]
    is_complete: bool


_read: dict[bytes, Known] = {}
"""{current key: the older keys}. The older keys change only together with the current key."""


def current() -> bytes:
    """Return the current audit key, with which new entries are written."""
    key: bytes = settings.MEMORYHUB_AUDIT_KEY
    return key


def key_name() -> str:
    """Return the name of the hub's current audit key. Each new entry contains this name."""
    return chain.key_id(current())


def known() -> Known:
    """Return the older keys that the hub still has."""
    found = _read.get(current())
    if found is None:
        text = Installation.objects.filter(pk=1).values_list("older_keys", flat=True).first()
        found = _decrypted(text) if text else Known((), not _was_rotated())
        if found.is_complete:
            _read[current()] = found
    return found


def _was_rotated() -> bool:
    return AuditChain.objects.filter(pk=HUB, key_name__isnull=False).exists()


def names() -> list[str]:
    """Return the names of all keys that the hub still has, the oldest first and the current one last."""
    return [*(one.name for one in known().keys), key_name()]


def of(name: str) -> bytes | None:
    """Return the key with this name, or None if the hub does not have it."""
    if name == key_name():
        return current()
    return next((one.key.encode() for one in known().keys if one.name == name), None)


def is_lost(name: str) -> bool:
    """Return whether the key with this name may be lost: the hub lacks it, and some older keys are lost."""
    return of(name) is None and not known().is_complete


def first() -> bytes:
    """Return the oldest key that the hub still has."""
    older = known().keys
    return older[0].key.encode() if older else current()


def use(key: bytes) -> None:
    """Make this process write entries with this key from now on."""
    settings.MEMORYHUB_AUDIT_KEY = key


def with_replaced(at: datetime) -> Known:
    """Return the older keys as they will be after a rotation at this moment: with the current key added."""
    own = Older(key_name(), current().decode(), at.isoformat())
    return known()._replace(keys=(*known().keys, own))


def encrypted(kept: Known) -> str:
    """Return older keys as one encrypted text, which only the current key decrypts."""
    from cryptography.fernet import Fernet

    text = json.dumps({"keys": kept.keys, "is_complete": kept.is_complete})
    return Fernet(_cipher()).encrypt(text.encode()).decode()


def _decrypted(text: str) -> Known:
    from cryptography.fernet import Fernet, InvalidToken

    try:
        kept = json.loads(Fernet(_cipher()).decrypt(text.encode()))
    except InvalidToken:
        return Known((), is_complete=False)
    return Known(tuple(Older(*row) for row in kept["keys"]), kept["is_complete"])


def _cipher() -> bytes:
    digest = hashlib.sha256(b"memoryhub.older_audit_keys" + current()).digest()
    return base64.urlsafe_b64encode(digest)
