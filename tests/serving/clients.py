"""Clients that send slowly, read slowly or not at all, and what they have in common with the others."""

import contextlib
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
            return status_of(connection)


def status_of(connection: socket.socket) -> int:
    """The status of the next answer on a connection, 0 where it ends without one."""
    data = b""
    while b"\r\n" not in data:
        try:
            more = connection.recv(4096)
        except OSError:
            return 0
        if not more:
            return 0
        data += more
    return int(data.split(b" ", 2)[1])


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
