"""A stand-in for the Messages API: plays the model's part from a script and refuses turns that the real one refuses."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BETA = "context-management-2025-06-27"


class Refused(Exception):
    """What is wrong with a request."""


@dataclass(slots=True)
class MessagesApi:
    """The model's turns in order, and the requests that asked for them; one that continues a thread is shown whole."""

    turns: list[list[dict[str, Any]]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    threads: dict[str, dict[str, Any]] = field(default_factory=dict)
    port: int = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next assistant message; raises Refused."""
        request = self._whole(request)
        check(request)
        content = self.turns[len(self.requests)]
        self.requests.append(request)
        calls = any(block["type"] == "tool_use" for block in content)
        id = f"msg_{len(self.requests):024}"
        messages = [*request["messages"], {"role": "assistant", "content": content}]
        self.threads[id] = {**request, "messages": messages}
        return {
            "id": id, "type": "message", "role": "assistant", "model": request["model"],
            "content": content, "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip

    def _whole(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request as it would be without a thread: with what the thread holds, up to the reply that it continues."""
        thread = request.pop("thread", {"type": "create"})
        if thread["type"] == "create":
            return request
        before = self.threads[thread["previous_message_id"]]
        return {**before, **request, "messages": [*before["messages"], *request["messages"]]}


def check(request: dict[str, Any]) -> None:
    """Raises Refused where the conversation is not one that the Messages API goes on with."""
    if not isinstance(request.get("model"), str) or not isinstance(request.get("max_tokens"), int):
        raise Refused("model and max_tokens are required")
    tools = [{k: v for k, v in tool.items() if k != "cache_control"} for tool in request.get("tools", [])]
    if tools != [{"type": "memory_20250818", "name": "memory"}]:
        raise Refused("tools: the memory tool is missing")
    messages = request["messages"]
    if messages and messages[0]["role"] == "assistant" and messages[0]["content"][0].get("signature"):
        messages = messages[1:]  # a summary that was asked for comes first
    roles = [m["role"] for m in messages]
    if "compaction" in request and roles[-1:] == ["assistant"]:
        roles = roles[:-1]
    if not messages or roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        raise Refused("messages: roles must alternate and begin and end with user")
    for before, message in zip([None, *messages], messages, strict=False):
        _check_turn(before, message)


def _check_turn(before: dict[str, Any] | None, message: dict[str, Any]) -> None:
    if message.keys() != {"role", "content"} or not message["content"]:
        raise Refused(f"messages: unexpected fields {sorted(message)}")
    if message["role"] == "assistant" or isinstance(message["content"], str):
        return
    asked = [b["id"] for b in before["content"] if b["type"] == "tool_use"] if before else []
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    if sorted(block.get("tool_use_id", "") for block in results) != sorted(asked):
        raise Refused("messages: each tool_use block must have one tool_result block in the next message")
    if message["content"][: len(results)] != results:
        raise Refused("messages: tool_result blocks must come first")
    for block in results:
        if block.keys() - {"type", "tool_use_id", "content", "is_error"} or not isinstance(block["content"], str):
            raise Refused(f"messages: a tool_result block has other fields: {sorted(block)}")
        is_error = block.get("is_error", False)
        if not isinstance(is_error, bool) or (is_error and not block["content"]):
            raise Refused("messages: is_error must be a boolean and an error must say something")


@contextmanager
def playing(turns: list[list[dict[str, Any]]]) -> Iterator[MessagesApi]:
    """The stand-in on a port of this machine."""
    api = MessagesApi(turns)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    api.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(api: MessagesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                if self.path.partition("?")[0] != "/v1/messages" or BETA not in self.headers.get("anthropic-beta", ""):
                    raise Refused("not the beta Messages API")
                self._send(200, api.answer(request))
            except (Refused, KeyError, TypeError) as error:
                envelope = {"type": "invalid_request_error", "message": repr(error)}
                self._send(400, {"type": "error", "error": envelope})

        def _send(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    return Handler
