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
    """Digests of keys with the time until which they count as known.

    This decides only whether a body is worth reading: whether the request may do anything is found out afterwards, in
    its own transaction, so a key that was revoked meanwhile does nothing.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def has(self, secret: str) -> bool:
        return self._until.get(_digest(secret), 0.0) > time.monotonic()

    def look_up(self, secret: str) -> bool:
        """Asks the database, in a thread that may wait for it. A database that does not answer says so later."""
        try:
            with connection.wrap_database_errors, my_turn():
                valid = calls.find_caller(secret, "", timezone.now()) is not None
        except Error:
            return True
        if valid:
            self._until[_digest(secret)] = time.monotonic() + KNOWN_FOR
            while len(self._until) > MOST:
                self._until.popitem(last=False)
        return valid


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
