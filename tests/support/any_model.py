"""A stand-in for the APIs of models that frameworks ask: it calls their tool `memory` once, then says a sentence.

It speaks Anthropic's Messages API, as one answer or as a stream, and OpenAI's Responses API.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.claude_runs.claude_api import Turn, events_of

Json = dict[str, Any]
INPUT = {"command": "view", "path": "/memories/ada.md"}


@dataclass(slots=True)
class AnyModel:
    """The requests that had the tool, and what the model says at last."""

    says: str
    requests: list[Json] = field(default_factory=list)
    port: int = 0

    @property
    def results(self) -> str:
        """What the tool answered, as the model saw it."""
        return json.dumps(self.requests[-1].get("messages") or self.requests[-1]["input"])

    def next(self, request: Json) -> Json:
        """A call of the tool, if there is one and it was not called yet; else the text."""
        tools = request.get("tools") or []  # a framework may name the tool as it likes
        tool = next((tool["name"] for tool in tools if '"insert_line"' in json.dumps(tool)), None)
        if tool is None:
            return {"type": "text", "text": self.says}
        self.requests.append(request)
        said = json.dumps(request.get("messages") or request.get("input"))
        if "tool_result" in said or "function_call_output" in said:
            return {"type": "text", "text": self.says}
        return {"type": "tool_use", "id": "toolu_01AnyModel", "name": tool, "input": INPUT}


@contextmanager
def any_model(says: str) -> Iterator[AnyModel]:
    """The stand-in on a port of this machine."""
    model = AnyModel(says)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _message(block: Json, model: str) -> Json:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _response(block: Json, model: str) -> Json:
    """The same as the Responses API has it."""
    if block["type"] == "tool_use":
        item = {
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": block["name"],
            "arguments": json.dumps(block["input"]), "status": "completed",
        }  # fmt: skip
    else:
        text = {"type": "output_text", "text": block["text"], "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": model, "output": [item],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def _handler(model: AnyModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send({"input_tokens": 1})
            elif path.endswith("/responses"):
                self._send(_response(model.next(request), request["model"]))
            elif path.endswith("/messages") and request.get("stream"):
                self._stream(model.next(request), request["model"])
            elif path.endswith("/messages"):
                self._send(_message(model.next(request), request["model"]))
            else:
                self._send({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _stream(self, block: Json, name: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for _, event in events_of(Turn([block]), 1, name):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def _send(self, value: object, status: int = 200) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    return Handler
