"""What people, agents and a mail server are to the hub of a machine: a browser, an HTTP client, an SMTP server."""

import http.client
import json
import re
import socket
import ssl
from email.message import EmailMessage
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.support.mailbox import Mailbox

HOST = "hub.example.com"
WAIT = 60


class _OverTLS(http.client.HTTPSConnection):
    """A connection to the machine's port 443 by the hub's name, whatever DNS says of the name."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(HOST, timeout=WAIT, context=context)
        self.own = context

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", 443), timeout=WAIT)
        self.sock = self.own.wrap_socket(plain, server_hostname=HOST)


class Browser:
    """Keeps cookies and posts forms as a browser does. It trusts one authority only."""

    def __init__(self, authority: Path) -> None:
        self.context = ssl.create_default_context(cafile=str(authority))
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str, str]:
        """Return the status, the text and the Location of an answer."""
        connection = _OverTLS(self.context)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        own = {"Host": HOST, "Cookie": cookies, "Origin": f"https://{HOST}", "Referer": f"https://{HOST}{path}"}
        try:
            connection.request(method, path, body or None, {**own, **headers})
            answer = connection.getresponse()
            for header in answer.headers.get_all("Set-Cookie") or []:
                self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(header).items()}
            return answer.status, answer.read().decode(), answer.getheader("Location") or ""
        finally:
            connection.close()

    def page(self, path: str) -> str:
        """Return the text of a page that is there."""
        status, text, location = self.request("GET", path)
        assert status == 200, f"{path} answers {status} {location}"
        return text

    def post(self, page: str, values: dict[str, str], to: str = "") -> str:
        """Fill the form of a page and send it; return where the answer leads."""
        text = self.page(page)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)
        assert token, f"{page} has no form"
        form = urlencode({"csrfmiddlewaretoken": token[1], **values})
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        status, text, location = self.request("POST", to or page, form, **kind)
        assert status in (302, 303), f"{to or page} answers {status}:\n{text}"
        return location

    def tool_call(self, store: str, key: str, number: str, **call: Any) -> str:
        """Send a call of the memory tool, and return what it says."""
        body = json.dumps({"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": call})
        kind = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        status, text, _ = self.request("POST", f"/v1/memory_stores/{store}/tool_calls", body, **kind)
        assert status == 200 and not json.loads(text)["is_error"], text
        content: str = json.loads(text)["content"]
        return content


class MailServer:
    """A mail server with STARTTLS that asks for a user and a password, and keeps what it takes."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.box = Mailbox()
        self.users: set[str] = set()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        self.controller = Controller(
            self.box, hostname="127.0.0.1", port=587, tls_context=context, require_starttls=True,
            authenticator=self._signed_in, auth_required=True,
        )  # fmt: skip

    def _signed_in(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.users.add(f"{data.login.decode()}:{data.password.decode()}")
        return AuthResult(success=True)

    def __enter__(self) -> list[EmailMessage]:
        self.controller.start()
        return self.box.messages

    def __exit__(self, *_: object) -> None:
        self.controller.stop()
