"""The actor of an audit entry or a version, in the form of the memory_stores API."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

ID_OF = {
    "api_actor": "api_key_id",
    "session_actor": "session_id",
    "user_actor": "user_id",
    "service_account_actor": "service_account_id",
}
"""{type of actor: the key that its id has in the API's form}."""


def typed(kind: str | None, id: str | None, session: str | None) -> tuple[str, str] | None:
    """Return the actor's type and id from an entry's columns; None if the hub itself acted or the actor is unknown."""
    if id is None:
        return None
    if kind == "user":
        return "user_actor", id
    if kind != "key":
        return "service_account_actor", id
    return ("api_actor", id) if session is None else ("session_actor", session)


def actor(kind: str | None, id: str | None, session: str | None) -> Json | None:
    """Return the actor in the API's form. None if the hub itself acted or the actor is unknown."""
    found = typed(kind, id, session)
    return None if found is None else {"type": found[0], ID_OF[found[0]]: found[1]}


def of_origin(origin: Mapping[str, Any]) -> Json | None:
    """Return the author of an imported version, as the source hub named the author; None if unknown."""
    named = ID_OF.get(origin.get("type") or "")
    return {"type": origin["type"], named: origin["id"]} if named and origin.get("id") else None
