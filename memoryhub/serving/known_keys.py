"""Which keys were valid a moment ago: a body is read at once with these, and with others once they were looked up."""

import hashlib
import time
from collections import OrderedDict

from django.db import Error, connection
from django.utils import timezone

from memoryhub.actions.core.transactions import my_turn
from memoryhub.actions.memories import calls

KNOWN_FOR = 60.0
MOST = 4096


class KnownKeys:
    """Digests of keys with their ids and the time until which they count as known.

    This decides only whether a body is worth reading: whether the request may do anything is found out afterwards, in
    its own transaction, so a key that was revoked meanwhile does nothing.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    def id_of(self, secret: str) -> str | None:
        """The id of a key that is known."""
        until, key = self._known.get(_digest(secret), (0.0, ""))
        return key if until > time.monotonic() else None

    def look_up(self, secret: str) -> bool:
        """Asks the database, in a thread that may wait for it. A database that does not answer says so later."""
        try:
            with connection.wrap_database_errors, my_turn():
                caller = calls.find_caller(secret, "", timezone.now())
        except Error:
            return True
        if caller is not None:
            self._known[_digest(secret)] = time.monotonic() + KNOWN_FOR, caller.key
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return caller is not None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
