"""Programs are answered without Django's handler and its signals. Each answer is the one that it would give."""

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpRequest

from memoryhub.models import Access, MemoryStore
from memoryhub.serving.django_side import ProgramsRequest, answer_program
from tests.api.harness import assert_audit_is_right, contents, new_secret, new_store

REQUESTS = 400
FRESH = re.compile(r"\b[a-z]+_[0-9A-Z]{26}\b|\b[0-9-]{10}T[0-9:.]+Z|\b[0-9a-f]{64}\b|Store \d+")
"""What differs from store to store: ids, times, keyed digests, and names."""
PATHS = ("/memories", "/memories/a.md", "/memories/b.md", "/memories/x/a.md", "/memories/x/y/z.md", "/etc/passwd", 7)
TEXTS = ("one\ntwo\n", "one", "two", "", "mh_" + "A" * 43, "\ud800", "four \u202e\n" * 3)
HEADERS = (
    {}, {}, {}, {}, {"HTTP_IDEMPOTENCY_KEY": "k1"}, {"HTTP_IDEMPOTENCY_KEY": ""}, {"HTTP_MEMORYHUB_SESSION": "s 1"},
    {"HTTP_MEMORYHUB_SESSION": "s1"}, {"HTTP_AUTHORIZATION": "Bearer mh_wrong"}, {"HTTP_AUTHORIZATION": ""},
    {"CONTENT_TYPE": "text/plain"}, {"CONTENT_LENGTH": "9999999"}, {"HTTP_ORIGIN": "https://evil.example"},
)  # fmt: skip


@dataclass(slots=True)
class Side:
    """A memory store, keys to it, and one of the two ways to answer."""

    store: MemoryStore = field(default_factory=new_store)
    handler: Any = None

    def __post_init__(self) -> None:
        self.keys = [new_secret(self.store, level) for level in (Access.MANAGE, Access.WRITE, Access.READ)]

    keys: list[str] = field(init=False)

    def answer(self, method: str, path: str, body: bytes, key: int, headers: dict[str, str]) -> tuple[Any, ...]:
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": path.replace("{store}", self.store.id), "QUERY_STRING": "",
            "REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "wsgi.url_scheme": "http",
            "SCRIPT_NAME": "", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "nobody checks this",
            "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)),
            "HTTP_AUTHORIZATION": f"Bearer {self.keys[key]}", "wsgi.input": BytesIO(body), **headers,
        }  # fmt: skip
        request: HttpRequest = WSGIRequest(environ)
        if self.handler:
            response = self.handler.get_response(request)
        else:
            request = ProgramsRequest(environ) if path.endswith("tool_calls") else request
            response = answer_program(request)
        content = b"".join(response) if response.streaming else response.content
        told = {name.lower(): FRESH.sub("*", value) for name, value in response.headers.items()}
        return response.status_code, told, FRESH.sub("*", content.decode()), bool(request.META.get("memoryhub.key"))


def made_up(chance: random.Random, number: int) -> tuple[str, str, bytes]:
    """A request for some operation, right or wrong: (method, path, body)."""
    command = chance.choice(("view", "create", "create", "str_replace", "insert", "delete", "rename", "look"))
    input = {"command": command, "path": chance.choice(PATHS), "file_text": chance.choice(TEXTS)}
    input |= {"old_str": chance.choice(TEXTS), "new_str": chance.choice(TEXTS), "insert_line": chance.choice((0, 1, 9))}
    input |= {"new_path": chance.choice(PATHS), "insert_text": chance.choice(TEXTS)}
    block = {"type": "tool_use", "id": f"toolu_{chance.choice((number, number, 1))}", "name": "memory", "input": input}
    message = {"role": "assistant", "content": [block, {**block, "id": f"{number}b"}, {"type": "text", "text": "…"}]}
    rpc = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "memory", "arguments": input}}
    calls, mcp = "/v1/memory_stores/{store}/tool_calls", "/mcp/{store}"
    sent: list[tuple[str, str, object]] = [("POST", calls, block)] * 12 + [
        ("POST", calls, message), ("POST", calls, {**block, "name": "other"}), ("GET", calls, block),
        ("POST", "/v1/memory_stores/memstore_1/tool_calls", block), ("POST", calls, [block]),
        ("POST", mcp, rpc), ("POST", mcp, {**rpc, "method": "tools/list"}), ("GET", mcp, b""),
        ("POST", "/mcp/a/b", rpc),
        ("GET", "/v1/memory_stores/{store}/memories", b""), ("GET", "/v1/memory_stores", b""),
        ("GET", "/v1/memory_stores/{store}", b""), ("DELETE", "/v1/memory_stores", b""), ("GET", "/v1/nothing", b""),
        ("GET", "/v1/openapi.json", b""), ("GET", "/v1/memory_stores/{store}/export", b""), ("GET", "/v1", b""),
        ("POST", "/v1/memory_stores/{store}/memories", {"path": f"/{number}.md", "content": input["file_text"]}),
    ]  # fmt: skip
    method, path, value = chance.choice(sent)
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return method, path, chance.choice([body] * 9 + [body[:-1], b"\xff" + body, b"[" * 70])


@pytest.mark.django_db
def test_programs_get_the_same_answers_as_from_djangos_handler() -> None:
    handler = WSGIHandler()
    with_django, without = Side(handler=handler), Side()
    chance, seen = random.Random(15), Counter[int]()
    for number in range(REQUESTS):
        method, path, body = made_up(chance, number)
        rest = chance.choice((0, 1, 1, 2)), chance.choice(HEADERS)
        one, other = (side.answer(method, path, body, *rest) for side in (with_django, without))
        if not path.endswith("/export"):  # a ZIP of its own moment
            assert one == other, (method, path, body[:500], rest)
        seen[other[0]] += 1
    assert {200, 400, 401, 403, 404, 405, 413, 415, 422} <= set(seen), seen
    assert contents(with_django.store) == contents(without.store) != {}
    assert_audit_is_right(without.store)
