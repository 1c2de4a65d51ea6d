"""Who was known a moment ago, and by what: bodies of these are read at once, and each of them has turns of its own."""

import hashlib
import time
from collections import OrderedDict

from django.db import Error, connection
from django.utils import timezone

from memoryhub.actions.core.transactions import my_turn
from memoryhub.actions.memories import calls

KNOWN_FOR = 60.0
MOST = 4096


class Known:
    """Digests of keys or of cookies with whose they are, and the time until which they count as known.

    This decides only whether a body is worth reading and who waits for whom: whether the request may do anything is
    found out afterwards, in its own transaction, so a key that was revoked meanwhile does nothing.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    def id_of(self, secret: str) -> str | None:
        """Whose it is, where that is known."""
        until, whose = self._known.get(_digest(secret), (0.0, ""))
        return whose if until > time.monotonic() else None

    def note(self, secret: str, whose: str) -> None:
        """It has just been found out whose it is."""
        self._known[_digest(secret)] = time.monotonic() + KNOWN_FOR, whose
        while len(self._known) > MOST:
            self._known.popitem(last=False)


class KnownKeys(Known):
    """The same of keys, which can be looked up."""

    def look_up(self, secret: str) -> bool:
        """Asks the database, in a thread that may wait for it. A database that does not answer says so later."""
        try:
            with connection.wrap_database_errors, my_turn():
                caller = calls.find_caller(secret, "", timezone.now())
        except Error:
            return True
        if caller is not None:
            self.note(secret, caller.key)
        return caller is not None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
