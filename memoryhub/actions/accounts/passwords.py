"""The hashes of passwords: two at once in a process, a few that wait for a moment, and no more."""

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
"""A hash takes a core for a third of a second. Whoever waits holds a thread that could answer something else."""

_running = threading.BoundedSemaphore(AT_ONCE)
_admitted = threading.BoundedSemaphore(AT_ONCE + MOST_WAITING)


class TooBusy(Exception):
    """Too many passwords are being checked at this moment: try again in a second."""


@contextmanager
def _slot() -> Iterator[None]:
    """A turn to hash; never inside a transaction, whose lock would be held for as long. Raises TooBusy."""
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
    """The hash of a new password, to be stored. Raises TooBusy."""
    with _slot():
        return hashers.make_password(password)


def fits(password: str, stored: str | None) -> tuple[bool, str | None]:
    """Whether it is the password, and a stronger hash of it where the stored one is outdated. Raises TooBusy.

    Without a stored hash the answer takes as long: the time does not tell whether there is such an account.
    """
    if stored is None:
        _any_hash()
    with _slot():
        is_right, is_outdated = hashers.verify_password(password, stored or _any_hash())
        is_right = is_right and stored is not None
        return is_right, hashers.make_password(password) if is_right and is_outdated else None


@lru_cache(maxsize=1)
def _any_hash() -> str:
    """The hash of a password that nobody has."""
    return hashers.make_password(secrets.token_urlsafe(32))
