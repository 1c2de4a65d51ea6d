"""Clients that send slowly, read slowly or not at all, and what they have in common with the others."""

import contextlib
import json
import select
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.api.server import Agent, Server


@dataclass(frozen=True, slots=True)
class Desk:
    """A store on a server and a key that may write to it."""

    server: Server
    store: str
    secret: str

    def agent(self) -> Agent:
        return Agent(self.server, self.store, self.secret)

    @property
    def tool_calls(self) -> str:
        return f"/v1/memory_stores/{self.store}/tool_calls"

    def head(self, path: str, *lines: str, key: str | None = None) -> bytes:
        """The first part of a POST, up to its body; `key` is another key than the desk's, "" none."""
        shown = self.secret if key is None else key
        own = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
        if shown:
            own.append(f"Authorization: Bearer {shown}")
        return "\r\n".join([*own, *lines, "", ""]).encode()

    def connect(self, *, receives: int | None = None) -> socket.socket:
        """A connection; `receives` bytes are as many as its side of it holds."""
        connection = socket.socket()
        if receives is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", self.server.port))
        return connection

    def hang(self, stack: ExitStack, *sent: bytes, receives: int | None = None) -> None:
        """For each of these a connection that sends it and then stays as it is."""
        for data in sent:
            connection = stack.enter_context(contextlib.closing(self.connect(receives=receives)))
            connection.sendall(data)

    def status(self, sent: bytes) -> int:
        """The status of the answer to these bytes, 0 where the connection ends without one."""
        with contextlib.closing(self.connect()) as connection:
            connection.sendall(sent)
            return answer_on(connection).status


def asks_for_export(desk: Desk, stack: ExitStack) -> socket.socket:
    """A connection that has asked for an export and holds little of it."""
    body = b'{"format": "jsonl", "history": false}'
    connection = stack.enter_context(contextlib.closing(desk.connect(receives=4096)))
    connection.sendall(desk.head(f"/v1/memory_stores/{desk.store}/export", f"Content-Length: {len(body)}") + body)
    return connection


def has_answer(connection: socket.socket) -> bool:
    """Whether something has come on a connection, or it has ended."""
    return bool(select.select([connection], [], [], 0)[0])


@dataclass(frozen=True, slots=True)
class Answer:
    """The status, headers and body of an answer that came over a bare connection."""

    status: int
    headers: dict[str, str]
    body: bytes


def answer_on(connection: socket.socket) -> Answer:
    """The next answer on a connection; its status is 0 where that ends without one."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            more = connection.recv(65536)
        except OSError:
            more = b""
        if not more:
            return Answer(0, {}, b"")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")) and (more := connection.recv(65536)):
        body += more
    return Answer(int(status.split()[1]), headers, body)


def assert_is_of_its_door(path: str, answer: Answer) -> None:
    """The envelope of the API, JSON-RPC's, or a sentence; nobody keeps it or guesses its kind."""
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    if path.startswith("/v1"):
        assert json.loads(answer.body)["type"] == "error"
        assert json.loads(answer.body)["error"]["message"]
    elif path.startswith("/mcp"):
        said = json.loads(answer.body)
        assert (said["jsonrpc"], said["id"]) == ("2.0", None)
        assert said["error"]["message"]
    if path.startswith(("/v1", "/mcp")):
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["request-id"].startswith("req_")
    else:
        assert answer.headers["content-type"].startswith("text/plain")


@contextmanager
def write_lock(server: Server) -> Iterator[None]:
    """Holds what every call needs to write, so that each waits with its thread."""
    url = server.environment["DATABASE_URL"]
    if url:
        import psycopg

        with psycopg.connect(url) as held:
            held.execute("lock table memoryhub_auditchain in access exclusive mode")
            yield
            held.rollback()
    else:
        path = Path(server.environment["MEMORYHUB_DATA_DIR"]) / "memoryhub.sqlite3"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as held:
            held.execute("begin immediate")
            yield
            held.execute("rollback")
