"""Hashes passwords. Each process hashes at most AT_ONCE passwords at the same time.

At most MOST_WAITING more requests wait for their turn. Any further request is refused, and so is one that has waited
LONGEST_WAIT seconds.
"""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from django.contrib.auth import hashers

from memoryhub.actions.core import transactions

AT_ONCE = 2
MOST_WAITING = 4
LONGEST_WAIT = 2.0
"""The longest wait, in seconds; a hash takes a third of a second. A waiting thread cannot answer other requests."""

_running = threading.BoundedSemaphore(AT_ONCE)
_admitted = threading.BoundedSemaphore(AT_ONCE + MOST_WAITING)


class TooBusy(Exception):
    """Too many passwords are being checked now. Try again in a second."""


@contextmanager
def _slot() -> Iterator[None]:
    """Wait for a turn to hash. Raises TooBusy.

    Do not call it in a transaction, because the transaction's locks would be held while hashing.
    """
    assert not transactions.is_open(), "a password is hashed before the transaction that stores the hash"
    if not _admitted.acquire(blocking=False):
        raise TooBusy
    try:
        if not _running.acquire(timeout=LONGEST_WAIT):
            raise TooBusy
        try:
            yield
        finally:
            _running.release()
    finally:
        _admitted.release()


def hashed(password: str) -> str:
    """Return the hash of a new password, for the caller to store. Raises TooBusy."""
    with _slot():
        return hashers.make_password(password)


def fits(password: str, stored: str | None) -> tuple[bool, str | None]:
    """Return whether the password is right, and a stronger hash or None. Raises TooBusy.

    The stronger hash is returned if the password is right and the stored hash is outdated. If `stored` is None, the
    check takes as long as with a hash, so that its time does not reveal whether the account exists.
    """
    if stored is None:
        _any_hash()
    with _slot():
        is_right, is_outdated = hashers.verify_password(password, stored or _any_hash())
        is_right = is_right and stored is not None
        return is_right, hashers.make_password(password) if is_right and is_outdated else None


@lru_cache(maxsize=1)
def _any_hash() -> str:
    """Return the hash of a random password, which no one has."""
    return hashers.make_password(secrets.token_urlsafe(32))
