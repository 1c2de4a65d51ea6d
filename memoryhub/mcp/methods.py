"""The methods of the protocol: initialization or discovery, the list of tools, and their calls."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.memories.api.requests import Asked, note_key
from memoryhub.mcp import calls, proposals, reads, tools, versions
from memoryhub.mcp.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Message, Refused

Json = dict[str, Any]

SERVER: Json = {"name": "memoryhub", "title": "MemoryHub", "version": "1"}
CAPABILITIES: Json = {"tools": {}}
KEPT_MS = 3_600_000
"""How long a client may cache the list of tools: it changes only with the hub's version."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A valid request: its message, version of the protocol, memory store, caller, and Idempotency-Key (`key`)."""

    message: Message
    version: str
    store_id: str
    asked: Asked
    key: str | None

    @property
    def params(self) -> Json:
        return self.message.params


def call(incoming: Incoming) -> Json:
    """Return the result of a request. Raises Refused for an error of the protocol, and Problem for an error that the
    API has too."""
    is_stateless = incoming.version == versions.STATELESS
    method = (_STATELESS if is_stateless else _AGREED).get(incoming.message.method)
    if method is None:
        raise Refused(METHOD_NOT_FOUND, f"There is no method {incoming.message.method} in {incoming.version}.")
    if method is not _call_tool:
        note_key(incoming.asked)
    result = method(incoming)
    if is_stateless:
        result |= {"resultType": "complete", "_meta": {versions.SERVER_KEY: SERVER}}
    return result


def _initialize(incoming: Incoming) -> Json:
    requested = incoming.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise Refused(INVALID_PARAMS, "`initialize` needs a `protocolVersion`.")
    return {
        "protocolVersion": versions.agreed_on(requested),
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": tools.INSTRUCTIONS,
    }


def session_begun(incoming: Incoming) -> str | None:
    """Return the session id that `initialize` makes for a connection; None for any other method.

    Nothing is stored: the client sends the id back with each call, in the header `Mcp-Session-Id`.
    """
    if incoming.version == versions.STATELESS or incoming.message.method != "initialize":
        return None
    info = incoming.params.get("clientInfo")
    given = info.get("name") if isinstance(info, dict) else None
    name = re.sub(r"[^a-z0-9]+", "-", str(given or "").lower())[:40].strip("-") or "mcp"
    return f"{name}-{incoming.asked.at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _discover(incoming: Incoming) -> Json:
    return {
        "supportedVersions": list(versions.SUPPORTED),
        "capabilities": CAPABILITIES,
        "instructions": tools.INSTRUCTIONS,
        **_cacheable(),
    }


def _ping(incoming: Incoming) -> Json:
    return {}


def _list_tools(incoming: Incoming) -> Json:
    """Return all tools in one page. A cursor is refused, because there is no second page."""
    if incoming.params.get("cursor") is not None:
        raise Refused(INVALID_PARAMS, "This list has only one page and no cursors.")
    return {"tools": tools.TOOLS} | (_cacheable() if incoming.version == versions.STATELESS else {})


def _cacheable() -> Json:
    return {"ttlMs": KEPT_MS, "cacheScope": "public"}


def _call_tool(incoming: Incoming) -> Json:
    name, arguments = incoming.params.get("name"), incoming.params.get("arguments")
    arguments = {} if arguments is None else arguments
    if not isinstance(name, str):
        raise Refused(INVALID_PARAMS, "A call needs the `name` of a tool.")
    if not isinstance(arguments, dict):
        raise Refused(INVALID_PARAMS, "The `arguments` of a call must be an object.")
    tool = _TOOLS.get(name)
    if tool is None:
        raise Refused(INVALID_PARAMS, f"There is no tool {name[:64]}; there are {', '.join(_TOOLS)}.")
    token = calls.token_of(incoming.message.meta, incoming.key)
    return tool(incoming.store_id, arguments, incoming.asked, token)


_TOOLS: dict[str, Callable[[str, Json, Asked, str | None], Json]] = {
    tools.MEMORY: calls.memory, tools.SEARCH: reads.search, tools.HISTORY: reads.history,
    tools.PROPOSALS: proposals.proposals,
}  # fmt: skip

_BOTH: dict[str, Callable[[Incoming], Json]] = {"tools/list": _list_tools, "tools/call": _call_tool}
_AGREED = _BOTH | {"initialize": _initialize, "ping": _ping}
_STATELESS = _BOTH | {"server/discover": _discover}
