"""Who made something, as the API names it."""

from collections.abc import Mapping
from typing import Any

from memoryhub.models.audit import ActorKind

Json = dict[str, Any]

ID_OF = {
    "api_actor": "api_key_id",
    "session_actor": "session_id",
    "user_actor": "user_id",
    "service_account_actor": "service_account_id",
}
"""Under which name each type of actor has its id."""


def actor(kind: str | None, id: str | None, session: str | None) -> Json | None:
    """Whoever made an entry; null where the hub itself did, or where the entry has been removed."""
    if id is None:
        return None
    if kind == ActorKind.USER:
        type = "user_actor"
    elif kind == ActorKind.POLICY:
        type = "service_account_actor"
    elif session is not None:
        type, id = "session_actor", session
    else:
        type = "api_actor"
    return {"type": type, ID_OF[type]: id}


def of_origin(origin: Mapping[str, Any]) -> Json | None:
    """Whoever wrote a version where an import brought it from; null where that is not told."""
    named = ID_OF.get(origin.get("type") or "")
    return {"type": origin["type"], named: origin["id"]} if named and origin.get("id") else None
