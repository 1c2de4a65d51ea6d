"""A stand-in for Claude's API that streams: a real HTTP server, which plays the model's part from a script.

It speaks what the SDK's types define: events of a stream, tool use, usage, edits of the context, summaries, the count
of tokens, errors and rate limits. It refuses what the real one refuses.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.api.messages_api import BETA, Refused, check

KEY = "sk-ant-api03-standin-0123456789"
PIECE = 24
"""How many characters of a text come in one event."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer. `pauses_at` is the block in whose middle the stream waits for `go_on`, `drops_at` the one in whose
    middle the connection ends. `raises` is an error that comes in the middle of the stream, by its type."""

    blocks: list[Json]
    input_tokens: int = 100
    output_tokens: int = 20
    stop_reason: str = ""
    edits: tuple[Json, ...] = ()
    pauses_at: int | None = None
    drops_at: int | None = None
    raises: str = ""

    @property
    def reason(self) -> str:
        if any(block.get("signature") for block in self.blocks if block["type"] == "compaction"):
            return "compaction"
        calls = any(block["type"] == "tool_use" for block in self.blocks)
        return self.stop_reason or ("tool_use" if calls else "end_turn")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error."""

    status: int
    kind: str
    message: str = "No."


@dataclass(slots=True)
class ClaudeApi:
    """The answers in order, the requests that asked for them, and the counts of tokens that were asked for."""

    turns: list[Turn | Refusal]
    requests: list[Json] = field(default_factory=list)
    counted: list[Json] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    betas: list[str] = field(default_factory=list)
    count: int = 100
    counts: bool = True
    models: list[Json] = field(default_factory=list)
    port: int = 0
    go_on: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def say(text: str) -> Json:
    return {"type": "text", "text": text}


def call(id: str, **input: object) -> Json:
    return {"type": "tool_use", "id": id, "name": "memory", "input": input}


def model(id: str, name: str, max_tokens: int, edits: tuple[str, ...], *, thinks: bool) -> Json:
    """A model as the list of models has it."""
    editing: Json = {"supported": bool(edits), "clear_tool_uses_20250919": None, "clear_thinking_20251015": None}
    editing |= {"compact_20260112": {"supported": False}} | {edit: {"supported": True} for edit in edits}
    can = {"context_management": editing, "thinking": {"supported": thinks, "types": {}}}
    return {
        "id": id, "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active",
        "max_tokens": max_tokens, "capabilities": can,
    }  # fmt: skip


@contextmanager
def claude_api(*turns: Turn | Refusal) -> Iterator[ClaudeApi]:
    """The stand-in on a port of this machine."""
    api = ClaudeApi(list(turns))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    api.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield api
    finally:
        api.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


def events_of(turn: Turn, number: int, model: str) -> Iterator[tuple[int | None, Json]]:
    """The events of an answer; for those in the middle of a block, with its place."""
    usage = {"input_tokens": turn.input_tokens, "output_tokens": 1}
    message = {
        "id": f"msg_{number:024}", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield None, {"type": "message_start", "message": message}
    yield None, {"type": "ping"}
    for index, block in enumerate(turn.blocks):
        yield None, {"type": "content_block_start", "index": index, "content_block": _beginning(block)}
        for delta in _deltas(block):
            yield index, {"type": "content_block_delta", "index": index, "delta": delta}
        yield None, {"type": "content_block_stop", "index": index}
    end: Json = {
        "type": "message_delta",
        "delta": {"stop_reason": turn.reason, "stop_sequence": None},
        "usage": {"output_tokens": turn.output_tokens},
    }
    if turn.edits:
        end["context_management"] = {"applied_edits": list(turn.edits)}
    yield None, end
    yield None, {"type": "message_stop"}


def _beginning(block: Json) -> Json:
    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}},
             "compaction": {"content": None}}  # fmt: skip
    return {**block, **empty.get(block["type"], {})}


def _deltas(block: Json) -> Iterator[Json]:
    kind = block["type"]
    if kind == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    elif kind == "tool_use":
        yield from ({"type": "input_json_delta", "partial_json": one} for one in _pieces(json.dumps(block["input"])))
    elif kind == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind == "compaction":
        yield {"type": "compaction_delta", "content": block["content"], "encrypted_content": None}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _check_summary(request: Json, betas: str, turn: Turn | Refusal) -> None:
    """A summary is asked for alone, and sent back as it was."""
    first = request["messages"][0]["content"]
    begins = isinstance(first, list) and first[0]["type"] == "compaction"
    if ("compaction" in request or begins) and "compact-2026-09-04" not in betas:
        raise Refused("the beta of summaries is missing")
    if begins and first[0].get("signature") != "c2lnbmVk":
        raise Refused("the summary is not as it was signed")
    if "compaction" in request:
        if "context_management" in request or request["compaction"]["type"] != "summarize":
            raise Refused("compaction")
        if not isinstance(turn, Turn) or [block["type"] for block in turn.blocks] != ["compaction"]:
            raise Refused("the script has another answer")


def _handler(api: ClaudeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.keys.add(self.headers.get("Authorization", "").removeprefix("Bearer "))
            path = self.path.partition("?")[0]
            try:
                if BETA not in self.headers.get("anthropic-beta", ""):
                    raise Refused("the beta of the memory tool is missing")
                if path == "/v1/messages/count_tokens":
                    self._count(request)
                elif path == "/v1/messages":
                    self._answer(request)
                else:
                    raise Refused(f"there is no {path}")
            except (Refused, KeyError, TypeError, IndexError) as error:
                self._error(Refusal(400, "invalid_request_error", repr(error)))

        def do_GET(self) -> None:
            """The list of models; without one, the API refuses."""
            if self.path.partition("?")[0] != "/v1/models" or not api.models:
                self._error(Refusal(404, "not_found_error"))
                return
            ends = {"first_id": api.models[0]["id"], "last_id": api.models[-1]["id"], "has_more": False}
            self._send(200, {"data": api.models, **ends})

        def _count(self, request: Json) -> None:
            api.counted.append(request)
            if not api.counts:
                raise Refused("counting is not possible")
            self._send(200, {"input_tokens": api.count})

        def _answer(self, request: Json) -> None:
            check(request)
            if request.get("stream") is not True:
                raise Refused("stream")
            turn = api.turns[len(api.requests)]
            _check_summary(request, self.headers["anthropic-beta"], turn)
            api.requests.append(request)
            api.betas.append(self.headers["anthropic-beta"])
            if isinstance(turn, Refusal):
                self._error(turn)
            else:
                self._stream(turn, request["model"])

        def _stream(self, turn: Turn, model: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            done = {turn.pauses_at} if turn.pauses_at is None else set()
            try:
                for index, event in events_of(turn, len(api.requests), model):
                    self._event(event)
                    if index is None:
                        continue
                    if index == turn.pauses_at and index not in done:
                        done.add(index)
                        self._wait()
                    if index == turn.drops_at:
                        return
                    if turn.raises:
                        self._event({"type": "error", "error": {"type": turn.raises, "message": "Overloaded"}})
                        return
            except (BrokenPipeError, ConnectionResetError):
                api.gone.set()

        def _wait(self) -> None:
            while not api.go_on.wait(0.05):
                self._event({"type": "ping"})
                time.sleep(0.02)

        def _event(self, event: Json) -> None:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

        def _error(self, refusal: Refusal) -> None:
            error = {"type": refusal.kind, "message": refusal.message}
            self._send(refusal.status, {"type": "error", "error": error})

        def _send(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status >= 429:
                self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    return Handler
