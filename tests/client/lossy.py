"""A way to the hub that loses answers: the request arrives, and whoever sent it hears nothing or an error."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Way:
    """What becomes of the next answers: "lost" closes the connection, a number is an answer of that status instead."""

    to: int
    fates: list[str | int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0


@contextmanager
def lossy(to: int) -> Iterator[Way]:
    """The way to a hub on a port of this machine."""
    way = Way(to)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(way))
    way.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield way
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(way: Way) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            way.tokens.append(self.headers.get("Idempotency-Key", ""))
            way.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, answer = self._of_the_hub(body)
            fate = way.fates.pop(0) if way.fates else None
            if fate == "lost":
                self.close_connection = True
                return
            if isinstance(fate, int):
                status, answer = fate, b'{"type":"error","error":{"type":"api_error","message":"The proxy failed."}}'
            self.send_response(status)
            if status == 307:
                self.send_header("Location", f"http://127.0.0.1:{way.port}{self.path}")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _of_the_hub(self, body: bytes) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", way.to, timeout=60)
            connection.request("POST", self.path, body, dict(self.headers))
            response = connection.getresponse()
            answer = response.status, response.read()
            connection.close()
            return answer

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    return Handler
