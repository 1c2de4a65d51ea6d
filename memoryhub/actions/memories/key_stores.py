"""Which memory stores a key reaches, where its request names none."""

from datetime import datetime

from memoryhub.actions.memories import calls
from memoryhub.models import Key, MemoryStore

ENOUGH = 2
"""So many are looked for: one, or several."""


def stores_of(secret: str, at: datetime) -> list[str] | None:
    """The ids of the first two memory stores that a key reaches; None without a key that is valid at that moment."""
    key = Key.objects.usable(at).filter(digest=calls.digest_of_key(secret)).values("id", "all_stores").first()
    if key is None:
        return None
    stores = MemoryStore.objects.all() if key["all_stores"] else MemoryStore.objects.reached_by(key["id"])
    return list(stores.order_by("pk").values_list("pk", flat=True)[:ENOUGH])
