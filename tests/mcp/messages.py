"""Messages to the MCP door as clients send them, in both versions of the protocol."""

import itertools
from typing import Any

from tests.api.harness import Answer, Hub

STATELESS, AGREED = "2026-07-28", "2025-11-25"
ACCEPT = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}

_ids = itertools.count(1)


def message(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params or {}} | more


def send(hub: Hub, body: object, version: str | None = AGREED, *, url: str = "/mcp", **headers: str) -> Answer:
    """As a client of that version sends it; None: without the header."""
    given = {"accept": ACCEPT} | ({} if version is None else {"mcp_protocol_version": version})
    if version == STATELESS and isinstance(body, dict):
        params = body.get("params") or {}
        given["mcp_method"] = str(body.get("method"))
        if body.get("method") == "tools/call":
            given["mcp_name"] = str(params.get("name"))
        body = body | {"params": {"_meta": META} | params}
    return hub.send(body, url=url, **(given | headers))


def call(hub: Hub, name: str, version: str = AGREED, /, **arguments: object) -> dict[str, Any]:
    """The result of a call of a tool."""
    return called(hub, name, arguments, version)


def called(
    hub: Hub, name: str, arguments: object, version: str = AGREED, *, meta: dict[str, Any] | None = None, **headers: str
) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
    answer = send(hub, message("tools/call", params), version, **headers)
    assert answer.status == 200, answer.body
    result: dict[str, Any] = answer.value["result"]
    return result


def text_of(result: dict[str, Any]) -> list[str]:
    """A result of the memory tool as the vectors write it."""
    (content,) = result["content"]
    assert content["type"] == "text"
    return ["err" if result["isError"] else "ok", content["text"]]
