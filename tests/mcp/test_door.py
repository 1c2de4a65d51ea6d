"""The MCP door over HTTP: what it asks of a request, in both versions, and what malformed ones are told."""

import json
import re
from typing import Any

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Access, AuditEntry, Session
from tests.api.harness import BY, Answer, Hub, new_agent, new_secret, new_store, newest_entry, row_counts
from tests.mcp.messages import AGREED, META, STATELESS, call, called, message, send, text_of

pytestmark = pytest.mark.django_db

PING = message("ping")
VIEW = {"name": "memory", "arguments": {"command": "view", "path": "/memories"}}


def error(answer: Answer) -> tuple[int, int]:
    """(HTTP status, code) of a refusal, which is one JSON-RPC error with a request id."""
    value = answer.value
    assert set(value) == {"jsonrpc", "id", "error"} and value["jsonrpc"] == "2.0" and value["error"]["message"]
    assert answer.headers["request-id"].startswith("req_") and answer.headers["content-type"] == "application/json"
    return answer.status, value["error"]["code"]


def test_a_client_of_the_older_version_shakes_hands_and_a_newer_one_asks(hub: Hub) -> None:
    for asked, agreed in (("2025-11-25", AGREED), ("2025-06-18", "2025-06-18"), ("2024-11-05", AGREED), ("x", AGREED)):
        result = send(hub, message("initialize", {"protocolVersion": asked}), None).value["result"]
        assert result["protocolVersion"] == agreed and result["serverInfo"]["name"] == "memoryhub"
        assert result["capabilities"] == {"tools": {}} and "/memories" in result["instructions"]
    found = send(hub, message("server/discover"), STATELESS).value["result"]
    assert found["supportedVersions"][0] == STATELESS and AGREED in found["supportedVersions"]
    assert (found["resultType"], found["cacheScope"], found["ttlMs"] > 0) == ("complete", "public", True)
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "memoryhub"
    assert send(hub, PING).value == {"jsonrpc": "2.0", "id": PING["id"], "result": {}}


def test_the_tools_have_schemas_hints_and_one_page(hub: Hub) -> None:
    for version in (AGREED, STATELESS):
        result = send(hub, message("tools/list"), version).value["result"]
        tools = {tool["name"]: tool for tool in result["tools"]}
        assert set(tools) == {"memory", "search", "history", "proposals"} and "nextCursor" not in result
        assert ("ttlMs" in result) == (version == STATELESS)
        assert [name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]] == ["search", "history"]
        commands = tools["memory"]["inputSchema"]["properties"]["command"]["enum"]
        assert commands == ["view", "create", "str_replace", "insert", "delete", "rename"]
        assert not {"oneOf", "anyOf", "allOf"} & tools["memory"]["inputSchema"].keys()  # models refuse these at the top
        answer = send(hub, message("tools/list", {"cursor": "page_x"}), version)
        assert error(answer) == (400 if version == STATELESS else 200, -32602)


def test_notifications_and_answers_are_taken_and_nothing_is_said(hub: Hub) -> None:
    before = row_counts()
    for version in (AGREED, STATELESS, None):
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = send(hub, note if version != STATELESS else {"jsonrpc": "2.0", "method": "x"}, version)
        assert (answer.status, answer.body) == (202, b"") and "content-type" not in answer.headers
    answer = send(hub, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert answer.status == 202 and "content-type" not in answer.headers
    assert row_counts() == before


def test_only_post_is_answered_and_only_at_these_addresses(hub: Hub) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = send(hub, PING, method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    for url in ("/mcp/", f"/mcp/{hub.store.id}", f"/mcp/{hub.store.id}/"):
        assert send(hub, PING, url=url).status == 200
    assert error(send(hub, PING, url=f"/mcp/{hub.store.id}/tools")) == (404, -32600)
    assert send(hub, PING, url="/mcpx").status == 404


def test_a_key_is_needed_and_opens_its_own_stores_alone(hub: Hub) -> None:
    for headers in ({"authorization": "Bearer mh_no"}, {"authorization": ""}, {"authorization": "Basic x"}):
        for url in ("/mcp", f"/mcp/{hub.store.id}"):
            answer = send(hub, PING, url=url, **headers)
            assert error(answer) == (401, -32600) and answer.headers["www-authenticate"] == "Bearer"
    assert send(hub, PING, authorization="", x_api_key=hub.secret).status == 200
    other, before = new_store(), AuditEntry.objects.filter(chain=HUB).count()
    assert error(send(hub, PING, url=f"/mcp/{other.id}")) == (404, -32600)
    assert error(send(hub, PING, url="/mcp/memstore_%00")) == (404, -32600)
    assert AuditEntry.objects.filter(chain=HUB).count() == before + 2
    refused = newest_entry(HUB)
    assert (refused.command, refused.door, refused.ok) == ("refused", "mcp", False)


@pytest.mark.both_databases
def test_a_key_of_several_stores_names_one(hub: Hub) -> None:
    other = new_store()
    _, several = keys_and_roles.issue_key(new_agent(), stores=[hub.store, other], access=Access.WRITE, **BY)
    _, every = keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.WRITE, **BY)
    _, none = keys_and_roles.issue_key(new_agent(), stores=[], access=Access.WRITE, **BY)
    for secret in (several, every):
        holder = Hub(hub.store, secret)
        answer = send(holder, PING)
        assert error(answer) == (400, -32600) and "/mcp/{memory_store_id}" in answer.value["error"]["message"]
        assert text_of(called(holder, "memory", VIEW["arguments"], url=f"/mcp/{other.id}"))[0] == "ok"
    assert error(send(Hub(hub.store, none), PING)) == (404, -32600)


def test_a_page_of_another_origin_is_refused(hub: Hub, settings: Any) -> None:
    settings.MEMORYHUB_URL = "https://hub.example.com"
    for origin in ("https://evil.example", "null", "http://hub.example.com", "https://hub.example.com:8443", ""):
        assert error(send(hub, PING, origin=origin)) == (403, -32600)
    for origin in ("https://hub.example.com", "HTTPS://hub.example.com"):
        answer = send(hub, PING, origin=origin)
        assert answer.status == 200 and "access-control-allow-origin" not in answer.headers


MALFORMED: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", -32700),
    "half an object": (b'{"jsonrpc":"2.0"', -32700),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    "a mark of the byte order": (b"\xef\xbb\xbf{}", -32700),
    "much that is no text": (b'{"jsonrpc": "2.0", "id": 1, "params": [%b1]}' % (b"1," * 200_000), -32700),
    "a key twice": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
    "an endless number": (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', -32700),
    "a deep one": (b'{"params":' * 100 + b"1" + b"}" * 100, -32700),
    "many lists": (
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": [%b1]}}' % (b"[]," * 20_000),
        -32700,
    ),
    "many keys": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{%b}}' % b",".join(b'"%x":0' % n for n in range(20_000)),
        -32700,
    ),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    "an empty batch": (b"[]", -32600),
    "a string": (b'"ping"', -32600),
    "no version": (b'{"id":1,"method":"ping"}', -32600),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    "no method": (b'{"jsonrpc":"2.0","id":1}', -32600),
    "a number for a method": (b'{"jsonrpc":"2.0","id":1,"method":1}', -32600),
    "a list of parameters": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    "null for an id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    "a fraction for an id": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    "true for an id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    "half a character for an id": (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32600),
    "a NUL in a method": (b'{"jsonrpc":"2.0","id":1,"method":"a\\u0000"}', -32600),
}


def test_malformed_messages_are_refused_and_leave_nothing(hub: Hub) -> None:
    before = row_counts()
    for name, (body, code) in MALFORMED.items():
        for version in (AGREED, STATELESS, None):
            answer = send(hub, body, version)
            assert error(answer) == (400, code), name
            assert answer.value["id"] is None, name
    assert row_counts() == before


def test_types_and_sizes_are_looked_at(hub: Hub, settings: Any) -> None:
    for type in ("text/plain", "", "application/x-www-form-urlencoded", "text/json"):
        assert error(send(hub, PING, type=type)) == (415, -32600)
    compressed = send(hub, PING, content_encoding="gzip")
    assert error(compressed) == (415, -32600) and "Compressed" in compressed.value["error"]["message"]
    assert send(hub, PING, type="application/json; charset=utf-8").status == 200
    for accept in ("text/html", "text/event-stream", "application/jsonx"):
        assert error(send(hub, PING, accept=accept)) == (406, -32600)
    for accept in ("application/json", "*/*", "text/event-stream, application/json;q=0.5", "application/*"):
        assert send(hub, PING, accept=accept).status == 200
    settings.MEMORYHUB_BODY_BYTES = 200
    assert error(send(hub, message("ping", {"x": "y" * 200}))) == (413, -32600)
    small = new_store(limit_body_bytes=100)
    assert error(send(Hub(small, new_secret(small)), message("ping", {"x": "y" * 100}))) == (413, -32600)


def stateless(**headers: str | None) -> dict[str, str]:
    """The headers of a stateless ping-like request, some of them otherwise or gone."""
    given = {"mcp_protocol_version": STATELESS, "mcp_method": "tools/call", "mcp_name": "memory"} | headers
    return {name: value for name, value in given.items() if value is not None}


MISMATCHED: dict[str, tuple[dict[str, str], dict[str, Any], int]] = {
    "no method": (stateless(mcp_method=None), META, -32020),
    "another method": (stateless(mcp_method="tools/list"), META, -32020),
    "no name": (stateless(mcp_name=None), META, -32020),
    "another name": (stateless(mcp_name="search"), META, -32020),
    "a broken name": (stateless(mcp_name="=?base64?bWVtb3J5!?="), META, -32020),
    "no version": (stateless(mcp_protocol_version=None), META, -32020),
    "an older version": (stateless(), META | {"io.modelcontextprotocol/protocolVersion": AGREED}, -32020),
    "no capabilities": (
        stateless(), {"io.modelcontextprotocol/protocolVersion": STATELESS}, -32602
    ),
    "nothing at all": (stateless(), {}, -32602),
    "a version of tomorrow": (
        stateless(mcp_protocol_version="2030-01-01"),
        META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"},
        -32022,
    ),
}  # fmt: skip


def test_what_a_stateless_request_says_twice_must_be_the_same(hub: Hub) -> None:
    before = row_counts()
    for name, (headers, meta, code) in MISMATCHED.items():
        answer = hub.send(message("tools/call", VIEW | {"_meta": meta}), url="/mcp", **headers)
        assert error(answer) == (400, code), name
    assert row_counts() == before
    encoded = stateless(mcp_name="=?base64?bWVtb3J5?=")
    assert hub.send(message("tools/call", VIEW | {"_meta": META}), url="/mcp", **encoded).status == 200
    unknown = send(hub, message("ping"), "1999-01-01")
    assert error(unknown) == (400, -32022)
    assert unknown.value["error"]["data"]["supported"] == [STATELESS, AGREED, "2025-06-18"]


def test_a_method_that_there_is_not_is_said_so_in_the_clients_way(hub: Hub) -> None:
    for method in ("resources/list", "prompts/get", "memory", "server/discover", "subscriptions/listen"):
        if method != "server/discover":
            assert error(send(hub, message(method), STATELESS)) == (404, -32601)
        answer = send(hub, message(method, id="call-7"))
        assert error(answer) == (200, -32601) and answer.value["id"] == "call-7"
    for method in ("initialize", "ping"):  # not a part of the stateless protocol
        assert error(send(hub, message(method), STATELESS)) == (404, -32601)
    assert error(send(hub, message("initialize"), None)) == (200, -32602)
    for params in ({}, {"name": 1}, {"name": "redact"}, {"name": "memory", "arguments": []}):
        assert error(send(hub, message("tools/call", params))) == (200, -32602)
        assert error(send(hub, message("tools/call", params), STATELESS, mcp_name=str(params.get("name")))) == (
            400, -32020 if params.get("name") == 1 else -32602
        )  # fmt: skip


def test_cookies_mean_nothing_and_none_are_set(hub: Hub, superuser: Any) -> None:
    hub.client.force_login(superuser)
    assert error(send(hub, PING, authorization="")) == (401, -32600)
    assert not send(hub, PING).headers.keys() & {"set-cookie", "mcp-session-id"}


@pytest.mark.both_databases
def test_a_connection_is_a_session_unless_the_agent_names_one(hub: Hub) -> None:
    begun = {
        "protocolVersion": "2025-11-25",
        "clientInfo": {"name": "Claude <Code>", "version": "1"},
        "capabilities": {},
    }
    first, second = (send(hub, message("initialize", begun), None).headers["mcp-session-id"] for _ in range(2))
    assert re.fullmatch(r"claude-code-\d{8}-\d{6}-[0-9a-f]{4}", first) and first != second
    look = {"command": "view", "path": "/memories"}
    called(hub, "memory", look, mcp_session_id=first)
    called(hub, "search", {"query": "x"}, mcp_session_id=first)
    called(hub, "memory", look, mcp_session_id=first, memoryhub_session="own")
    called(hub, "memory", look)
    assert sorted(Session.objects.values_list("name", flat=True)) == sorted([first, "own"])
    assert AuditEntry.objects.filter(chain=hub.store.pk, session=Session.objects.get(name=first).pk).count() == 2
    assert (
        send(hub, message("initialize", {"protocolVersion": "2025-11-25"}), None).headers["mcp-session-id"][:4]
        == "mcp-"
    )
    assert error(send(hub, message("tools/list"), mcp_session_id="é"))[0] == 400


def test_the_hub_that_fails_says_so_as_json(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.mcp.methods.call", lambda incoming: 1 / 0)
    assert error(send(hub, PING)) == (500, -32603)


def test_archiving_and_access_are_the_tools_own_refusals(hub: Hub) -> None:
    assert text_of(call(hub, "memory", command="create", path="/memories/a.md", file_text="x"))[0] == "ok"
    reader = Hub(hub.store, new_secret(hub.store, Access.READ))
    assert text_of(call(reader, "memory", command="view", path="/memories/a.md"))[0] == "ok"
    refused = text_of(call(reader, "memory", command="delete", path="/memories/a.md"))
    assert refused[0] == "err" and refused == reader.call(command="delete", path="/memories/a.md")
    assert json.loads(newest_entry(hub.store.id).message or "") == refused[1]
    stores.set_archived(hub.store, True, **BY)
    archived = text_of(call(hub, "memory", command="create", path="/memories/b.md", file_text="x"))
    assert archived == hub.call(command="create", path="/memories/b.md", file_text="x")
