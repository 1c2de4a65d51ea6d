"""A receiver of webhooks on loopback: a real server that answers as a test tells it to, and keeps what arrives."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Behaviour = Callable[[socket.socket], None]


@dataclass
class Arrived:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: str


@dataclass
class Receiver:
    """`answer` is what it says (bytes), or what it does with the connection; `gate` is set while it is up."""

    port: int
    answer: bytes | Behaviour = b"HTTP/1.1 204 No Content\r\n\r\n"
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.connections += 1
            self.arrived.append(request_of(connection))
            if callable(self.answer):
                self.answer(connection)
            else:
                connection.sendall(self.answer)


def request_of(connection: socket.socket) -> Arrived:
    """Reads one request to its end."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65_536)
    return Arrived(first.split(" ")[1], headers, body.decode())


@contextmanager
def receiver(wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain) -> Iterator[Receiver]:
    """One that accepts until the end of the block, each connection in a thread of its own."""
    server = socket.create_server(("127.0.0.1", 0))
    made = Receiver(server.getsockname()[1])

    def handle(plain: socket.socket) -> None:
        with suppress(OSError):
            made.serve(wrap(plain))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def status(code: int, **headers: Any) -> bytes:
    """An answer with nothing but its status and some headers."""
    lines = [f"HTTP/1.1 {code} So", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "Content-Length: 0", "", ""]).encode()


def hang(connection: socket.socket) -> None:
    """Says nothing until the other side has had enough."""
    with suppress(OSError):
        connection.settimeout(10)
        connection.recv(1)


def drip(connection: socket.socket) -> None:
    """One byte of a head at a time, for as long as anybody listens."""
    with suppress(OSError):
        while True:
            connection.sendall(b"H")
            time.sleep(0.05)


def huge(connection: socket.socket) -> None:
    """An answer that never ends."""
    with suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65_536)


def huge_head(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"x-more: " + b"y" * 1_000 + b"\r\n")


def told(there: Receiver) -> list[str]:
    """The types of the events that arrived."""
    return [json.loads(one.body)["data"]["type"] for one in there.arrived]


def entries_told(there: Receiver) -> list[int]:
    """The audit entries that they tell of."""
    return [json.loads(one.body)["data"]["audit_entry"] for one in there.arrived]
