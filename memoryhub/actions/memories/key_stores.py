"""Finds the memory stores of a key whose request names no store."""

from datetime import datetime

from memoryhub.actions.memories import calls
from memoryhub.models import Key, MemoryStore

ENOUGH = 2
"""Two stores are enough to distinguish one from several."""


def stores_of(secret: str, at: datetime) -> list[str] | None:
    """Return the ids of the stores that a key reaches; None if no valid key has this secret.

    At most two ids are returned: two show that the key reaches several stores.
    """
    key = Key.objects.usable(at).filter(digest=calls.digest_of_key(secret)).values("id", "all_stores").first()
    if key is None:
        return None
    stores = MemoryStore.objects.all() if key["all_stores"] else MemoryStore.objects.reached_by(key["id"])
    return list(stores.order_by("pk").values_list("pk", flat=True)[:ENOUGH])
