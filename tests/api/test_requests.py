"""Refused requests: JSON in the envelope, the right status, and nothing changed."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import HUB, Access, AuditEntry, IdempotentCall, Key
from memoryhub.pure import strict_json
from tests.api import malformed
from tests.api.harness import (
    AT,
    BY,
    Answer,
    Hub,
    assert_audit_is_right,
    assert_kept,
    contents,
    new_hub,
    new_secret,
    new_store,
    newest_entry,
    outcome,
    row_counts,
)
from tests.api.malformed import BLOCK, LIMIT, MESSAGE, Case
from tests.support.in_turn import in_turn
from tests.support.long import LONG, is_tried, some

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    422: "invalid_request_error",
}


def assert_envelope(answer: Answer, status: int) -> None:
    assert answer.status == status, answer.body[:300]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["request-id"].startswith("req_")
    assert (answer.headers.get("allow") == "POST") == (status == 405)
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert "set-cookie" not in answer.headers
    value = answer.value
    assert value.keys() == {"type", "error", "request_id"} and value["type"] == "error"
    assert value["error"].keys() == {"type", "message"} and value["error"]["message"]
    assert (value["error"]["type"], value["request_id"]) == (TYPES[status], answer.headers["request-id"])


def test_there_are_more_than_300_kinds() -> None:
    cases = [case for kind in malformed.KINDS for case in kind()]
    assert len(cases) - len(list(malformed.truncated())) > 300
    assert [name for name, count in Counter(case.name for case in cases).items() if count > 1] == []


@pytest.mark.parametrize("kind", malformed.KINDS, ids=lambda kind: kind.__name__)
def test_a_malformed_request_is_refused_and_changes_nothing(hub: Hub, kind: Callable[[], Iterator[Case]]) -> None:
    before = row_counts()
    for case in kind():
        print(case.name.encode("unicode_escape"))  # noqa: T201  (shown where the case fails)
        answer = hub.send(case.body, method=case.method, type=case.type, **case.headers)
        if case.method == "HEAD":
            assert (answer.status, answer.headers["allow"], answer.body) == (405, "POST", b"")
        else:
            assert_envelope(answer, case.status)
        if LONG:
            assert row_counts() == before
    assert row_counts() == before


def test_a_good_request_is_answered_with_a_request_id(hub: Hub) -> None:
    answer = hub.send(BLOCK)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["request-id"].startswith("req_")
    assert answer.value == {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": "File created successfully at: /memories/a.md",
        "is_error": False,
    }


def test_the_log_names_a_refused_request_by_its_id(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    for url in (None, f"/mcp/{hub.store.id}", f"/v1/memory_stores/{hub.store.id}/memories/mem_x"):
        caplog.clear()
        answer = hub.send({}, **({"url": url} if url else {}))
        assert answer.status >= 400
        (line,) = caplog.messages
        assert line.endswith(f"({answer.headers['request-id']})")


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_a_body_up_to_the_limit_is_read(hub: Hub, size: int) -> None:
    assert hub.send(malformed.padded(size)).status == 200


@pytest.mark.parametrize(
    "type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;x"]
)
def test_json_may_be_called_by_other_names(hub: Hub, type: str) -> None:
    assert hub.send(BLOCK, type=type).status == 200


def test_a_string_without_an_end_is_looked_at_once() -> None:
    """Its quotes were each taken for another beginning, which took minutes for a body of this size."""
    with pytest.raises(strict_json.Malformed, match="not JSON"):
        strict_json.loads(b"[" * 60 + b"[]," * 10 + b'"' + b'\\"' * 500_000)


@pytest.mark.parametrize("depth", [1, 10, 62])
def test_nesting_up_to_64_levels_is_read(hub: Hub, depth: int) -> None:
    body = json.dumps(BLOCK)[:-2] + ', "x": ' + "[" * depth + "]" * depth + "}}"
    assert hub.send(body.encode()).status == 200


def test_brackets_inside_texts_are_not_nesting(hub: Hub) -> None:
    text = '[{"\\' * 5000
    assert hub.call(command="create", path="/memories/a.md", file_text=text)[0] == "ok"
    assert contents(hub.store) == {"/memories/a.md": text}


STRANGE_INPUTS = [
    *({**BLOCK["input"], key: value} for key in BLOCK["input"] for value in malformed.WRONG),
    *({"command": "view", "path": "/memories", "view_range": value} for value in malformed.WRONG),
    *({"command": "insert", "path": "/memories/f.md", "insert_line": v, "insert_text": "x"} for v in malformed.WRONG),
    *({"command": "view", "path": "/memories/f.md", "view_range": value} for value in malformed.WRONG),
    *({"command": "rename", "old_path": value, "new_path": "/memories/g.md"} for value in malformed.WRONG),
    *({"command": "str_replace", "path": "/memories/f.md", "old_str": v, "new_str": v} for v in malformed.WRONG),
    {"command": "view", "path": "/memories/f.md", "view_range": [10**998, -(10**998)]},
    {"command": "view", "path": "/memories/f.md", "view_range": [-(10**998), 10**998]},
    {"command": "view", "path": "/memories/f.md", "view_range": [1e308, 1.0]},
    {"command": "view", "path": "/memories/f.md", "view_range": ["9" * 900, "1"]},
    {"command": "view", "path": "/memories/f.md", "view_range": ["9" * 9000, "1"]},
    {"command": "view", "path": "/memories/f.md", "view_range": ["\ud800", "\0"]},
    {"command": "insert", "path": "/memories/f.md", "insert_line": 10**998, "insert_text": "x"},
    {"command": "insert", "path": "/memories/f.md", "insert_line": -1e308, "insert_text": "x"},
    {"command": "insert", "path": "/memories/f.md", "insert_line": "9" * 9000, "insert_text": "x"},
    {"command": "insert", "path": "/memories/f.md", "insert_line": "\ud800\0", "insert_text": "x"},
    {"command": "view\0", "path": "/memories"},
    {"command": "\ud800", "path": "/memories"},
    {"command": "x" * 100_000, "path": "/memories"},
    {"command": "view", "path": "\ud800"},
    {"command": "view", "path": "/memories/\0"},
    {"command": "view", "path": "/memories/" + "a" * 100_000},
    {"command": "view", "path": "/memories/" + "a/" * 50_000},
    {"command": "view", "path": "/memories/" + "%25" * 50_000},
    {"command": "create", "path": "/memories/n.md", "file_text": "\0"},
    {"command": "create", "path": "/memories/n.md", "file_text": "\udc00"},
    {"command": "create", "path": "/memories/n.md", "file_text": "x", "\0": "\ud800"},
    {"command": "view", "path": "/memories", "x": [[["\ud800", {"\0": 10**998}]]]},
]  # fmt: skip


@in_turn(("number", "input"), some(enumerate(STRANGE_INPUTS), 3))
def test_whatever_stands_inside_input_is_a_matter_of_the_tool(hub: Hub, number: int, input: dict[str, object]) -> None:
    hub.call(command="create", path="/memories/f.md", file_text="one\n")
    answer = hub.send({**BLOCK, "input": input})
    assert answer.status == 200
    assert outcome(answer.value)[0] in ("ok", "err")
    assert_kept(newest_entry(hub.store.id).input, input)
    again = hub.send({**BLOCK, "input": input})
    assert again.value == answer.value
    if is_tried(number):
        assert_audit_is_right(hub.store)


# ------------------------------------------------------------------------------------------------ keys and stores


def test_a_bearer_key_wins_over_x_api_key(hub: Hub) -> None:
    assert hub.send(BLOCK, x_api_key="mh_wrong").status == 200
    assert_envelope(hub.send(BLOCK, authorization="Bearer mh_wrong", x_api_key=hub.secret), 401)


def test_a_key_may_come_as_x_api_key(hub: Hub) -> None:
    assert hub.send(BLOCK, authorization="", x_api_key=hub.secret).status == 200


def test_the_scheme_is_read_in_any_case(hub: Hub) -> None:
    assert hub.send(BLOCK, authorization=f"bearer  {hub.secret}").status == 200


def test_a_revoked_key_is_none(hub: Hub) -> None:
    key = Key.objects.get(digest=keys_and_roles.calls.digest_of_key(hub.secret))
    keys_and_roles.revoke_key(key, **BY)
    assert_only_noted(hub)


def test_an_expired_key_is_none(hub: Hub) -> None:
    hub.secret = new_secret(hub.store, expires_at=AT + timedelta(seconds=1))
    assert_only_noted(hub)


def assert_only_noted(hub: Hub) -> None:
    """The request of an ended key does nothing, but the hub's audit has an entry of it."""
    before = row_counts()
    assert_envelope(hub.send(BLOCK), 401)
    after = row_counts()
    assert {name for name in after if after[name] != before[name]} == {"hub entries"}
    assert AuditEntry.objects.of_chain(HUB).newest()[0].command == "refused"


def test_a_key_that_expires_tomorrow_is_one(hub: Hub) -> None:
    hub.secret = new_secret(hub.store, expires_at=timezone.now() + timedelta(days=1))
    assert hub.send(BLOCK).status == 200


STRANGE_STORES = [
    "x",
    "hub",
    "memstore_",
    "memstore_" + "0" * 26,
    "%00",
    "%2F",
    "..",
    "%FF",
    "%F0%9F%98%80",
    "a" * 5000,
    "%ED%A0%80",
    "'",
    "%25",
]


def test_an_unknown_store_is_not_found_and_noted_in_the_hub(hub: Hub) -> None:
    for id in STRANGE_STORES:
        before = row_counts()
        answer = hub.send(BLOCK, url=f"/v1/memory_stores/{id}/tool_calls")
        assert_envelope(answer, 404)
        noted = 0 if id == "%2F" else 1  # another address altogether
        assert row_counts() == before | {"hub entries": before["hub entries"] + noted}, id
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("body", [BLOCK, MESSAGE, b"{", b""])
def test_the_key_of_another_store_is_not_found_and_noted(hub: Hub, body: object) -> None:
    other = new_hub()
    before = row_counts()
    assert_envelope(hub.send(body, url=other.url), 404)
    assert row_counts() == before | {"hub entries": before["hub entries"] + 1}
    entry = newest_entry(HUB)
    assert (entry.command, entry.ok, entry.actor_kind) == ("refused", False, "key")
    reason = "the key does not reach the memory store"
    assert json.loads(entry.input or "") == {"memory_store": other.store.id, "status": 404, "reason": reason}


def test_no_key_learns_nothing_about_stores(hub: Hub) -> None:
    for url in (hub.url, "/v1/memory_stores/x/tool_calls"):
        assert_envelope(hub.send(BLOCK, url=url, authorization=""), 401)


def test_the_content_type_is_looked_at_after_the_store(hub: Hub) -> None:
    assert_envelope(hub.send(BLOCK, url=new_hub().url, type="text/plain"), 404)


@pytest.mark.parametrize(
    "url", ["/v1/", "/v1/x", "/v1/memory_store", "/v1/memory_stores/x/tool_calls/", "/v1//", "/v1/%00"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_address_is_not_found_in_json(hub: Hub, url: str, method: str) -> None:
    assert_envelope(hub.send(BLOCK, url=url, method=method), 404)


@pytest.mark.parametrize("url", ["/v1/audit", "/v1/memory_stores/x/audit"])
def test_who_looks_for_the_audit_is_told_where_it_is(hub: Hub, url: str) -> None:
    answer = hub.send(BLOCK, url=url, method="GET")
    assert_envelope(answer, 404)
    assert "/v1/memory_stores/{memory_store_id}/audit_entries" in answer.value["error"]["message"]


def test_a_key_for_all_stores_reaches_each(hub: Hub) -> None:
    agent = keys_and_roles.create_agent("Everywhere", **BY)
    _, hub.secret = keys_and_roles.issue_key(agent, all_stores=True, **BY)
    for store in (hub.store, new_store()):
        url = f"/v1/memory_stores/{store.id}/tool_calls"
        assert hub.send(BLOCK, url=url).status == 200


@pytest.mark.parametrize("command", ["create", "str_replace", "insert", "delete", "rename"])
def test_a_key_that_may_only_read_is_refused_by_the_tool(hub: Hub, command: str) -> None:
    hub.call(command="create", path="/memories/f.md", file_text="x")
    hub.secret = new_secret(hub.store, Access.READ)
    rest = {"file_text": "y", "old_str": "x", "insert_line": 0, "insert_text": "y", "old_path": "/memories/f.md"}
    answer = hub.call(command=command, path="/memories/f.md", new_path="/memories/g.md", **rest)
    assert answer == ["err", "Error: this key may not write to this memory store"]
    assert contents(hub.store) == {"/memories/f.md": "x"}
    assert hub.call(command="view", path="/memories/f.md")[0] == "ok"
    entry = AuditEntry.objects.of_chain(hub.store.id).newest()[1]
    assert (entry.command, entry.ok, entry.path) == (command, False, "/f.md")


# ------------------------------------------------------------------------------------------------ sessions


@pytest.mark.parametrize("name", ["x", "x" * 128, "!~", "a/b:c", '"'])
def test_a_session_is_noted(hub: Hub, name: str) -> None:
    hub.send(hub.block(command="view", path="/memories"), memoryhub_session=name)
    hub.send(hub.block(command="view", path="/memories"), memoryhub_session=name)
    one, two = AuditEntry.objects.of_chain(hub.store.id).newest()[:2]
    assert one.session == two.session and (one.session or "").startswith("sesn_")


def test_unknown_keys_are_ignored_at_every_level(hub: Hub) -> None:
    block = {
        **BLOCK,
        "cache_control": {"type": "ephemeral"},
        "caller": {"type": "direct"},
        "input": {**BLOCK["input"], "x": 1},
    }
    message = {**MESSAGE, "id": "msg_1", "usage": {"input_tokens": 1}, "stop_reason": None, "content": [block]}
    assert hub.send(message).status == 200
    assert IdempotentCall.objects.filter(token="toolu_01").count() == 1


def test_other_blocks_of_a_message_are_passed_over(hub: Hub) -> None:
    others = [
        {"type": "text", "text": "tool_use"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "toolu_8", "name": "memory", "input": {}},
        {"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": None, "name": "Memory", "input": 3},
        {"no type": 1},
    ]
    answer = hub.send({"role": "assistant", "content": [*others, BLOCK, *others]})
    assert answer.status == 200
    assert [result["tool_use_id"] for result in answer.value["content"]] == ["toolu_01"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP ", "identity, gzip"])
def test_a_compressed_body_is_called_so(hub: Hub, encoding: str) -> None:
    answer = hub.send(BLOCK, content_encoding=encoding)
    assert_envelope(answer, 415)
    assert "Compressed bodies are not accepted" in answer.value["error"]["message"]
    assert hub.send(BLOCK, content_encoding="identity").status == 200
