"""Who made something, as the memory_stores API names it."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

ID_OF = {
    "api_actor": "api_key_id",
    "session_actor": "session_id",
    "user_actor": "user_id",
    "service_account_actor": "service_account_id",
}
"""Under which name each type of actor has its id."""


def typed(kind: str | None, id: str | None, session: str | None) -> tuple[str, str] | None:
    """The type and the id of whoever made an entry, by its columns; null where the hub itself did, or nobody knows."""
    if id is None:
        return None
    if kind == "user":
        return "user_actor", id
    if kind != "key":
        return "service_account_actor", id
    return ("api_actor", id) if session is None else ("session_actor", session)


def actor(kind: str | None, id: str | None, session: str | None) -> Json | None:
    """The actor as the API writes it."""
    found = typed(kind, id, session)
    return None if found is None else {"type": found[0], ID_OF[found[0]]: found[1]}


def of_origin(origin: Mapping[str, Any]) -> Json | None:
    """The actor who wrote an imported version in the hub of its origin; null if unknown."""
    named = ID_OF.get(origin.get("type") or "")
    return {"type": origin["type"], named: origin["id"]} if named and origin.get("id") else None
