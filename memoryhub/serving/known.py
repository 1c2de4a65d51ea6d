"""Remembers the keys and the people of recent requests.

If the key of a request is known, the body is read at once, without a query of the database. When requests wait for a
thread, each known key and each known person has turns of its own.
"""

import hashlib
import time
from collections import OrderedDict

from django.db import connection
from django.utils import timezone

from memoryhub.actions.core.transactions import my_turn
from memoryhub.actions.memories import calls

KNOWN_FOR = 60.0
MOST = 4096


class Known:
    """Digests of keys or session cookies. Each digest has the id of its owner, and the time until which it is known.

    The digests only decide whether a body is read, and whose turn a waiting request takes. Whether a request is allowed
    is checked later.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    def id_of(self, secret: str) -> str | None:
        """Return the id of a secret's owner, or None if the secret is not known now."""
        until, whose = self._known.get(_digest(secret), (0.0, ""))
        return whose if until > time.monotonic() else None

    def note(self, secret: str, whose: str) -> None:
        """Remember the owner of a secret that was just verified."""
        self._known[_digest(secret)] = time.monotonic() + KNOWN_FOR, whose
        while len(self._known) > MOST:
            self._known.popitem(last=False)


class KnownKeys(Known):
    """The known keys of agents. An unknown key can be looked up in the database."""

    def look_up(self, secret: str) -> bool:
        """Return whether a key is valid. Raises a database error."""
        with connection.wrap_database_errors, my_turn():
            caller = calls.find_caller(secret, "", timezone.now())
        if caller is not None:
            self.note(secret, caller.key)
        return caller is not None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
