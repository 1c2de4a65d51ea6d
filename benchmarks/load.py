"""A small HTTP/1.1 load generator: persistent connections with one request in flight each, recording every latency."""

import json
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Request = Callable[[int, int], bytes]
"""A function of the request's number and the connection's number, both from 0, that returns the request's bytes."""


@dataclass(slots=True)
class Measured:
    """The result of a run: its duration, the latencies in seconds, and the server's microseconds of processor for each
    operation (0: not measured)."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    processor: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def http_request(method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    """Return a request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    number: int
    started: float = 0.0
    received: bytes = b""

    def is_complete(self) -> bool:
        """Return whether a whole response (with Content-Length) has arrived."""
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return False
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        return len(body) >= length

    def check(self) -> None:
        """Raise RuntimeError if the response is not a success, or if it contains an error of the tool."""
        if not self.received.startswith(b"HTTP/1.1 200") or b'"is_error":true' in self.received:
            raise RuntimeError(self.received[:2000].decode("utf-8", "replace"))


def run(port: int, request: Request, connections: int, operations: int) -> Measured:
    """Send `operations` requests over this many connections, each as soon as the previous answer has arrived."""
    selector, sent = selectors.DefaultSelector(), 0
    start = time.perf_counter()
    measured = Measured(0.0)
    for number in range(connections):
        connection = _Connection(socket.create_connection(("127.0.0.1", port)), number)
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        _send(connection, request(sent, connection.number))
        sent += 1
    while len(measured.latencies) < operations:
        for key, _ in selector.select():
            connection = key.data
            connection.received += connection.socket.recv(1 << 20)
            if not connection.is_complete():
                continue
            measured.latencies.append(time.perf_counter() - connection.started)
            connection.check()
            if sent < operations:
                _send(connection, request(sent, connection.number))
                sent += 1
    measured.seconds = time.perf_counter() - start
    for key in list(selector.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]
    return measured


def processor_time(pid: int) -> float:
    """Return the microseconds that a process and its descendants have run so far; the threads that have ended do not
    count."""
    found = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += int((task / "schedstat").read_text().split()[0]) / 1000
        found += sum(processor_time(int(child)) for child in (task / "children").read_text().split())
    return found


def _send(connection: _Connection, request: bytes) -> None:
    connection.received = b""
    connection.started = time.perf_counter()
    connection.socket.sendall(request)


def tool_call(store: str, key: str, id: str, input: dict[str, object]) -> bytes:
    """Return a tool call, with this id and input, as an HTTP request."""
    body = json.dumps({"type": "tool_use", "id": id, "name": "memory", "input": input}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return http_request("POST", f"/v1/memory_stores/{store}/tool_calls", body, headers)
