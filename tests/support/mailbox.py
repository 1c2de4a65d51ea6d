"""A real SMTP server on loopback that keeps what it takes, and can refuse or be silent."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.core.mail import get_connection

SMTP = "memoryhub.background.smtp.EmailBackend"


@dataclass
class Mailbox:
    """What arrived. `refuse` is the answer to a receiver instead of taking the message, by the address; `slow` is how
    many seconds pass until a message that arrived is answered."""

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)
    slow: float = 0.0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        await asyncio.sleep(self.slow)
        return "250 taken"


def texts(message: EmailMessage) -> tuple[str, str]:
    """The plain text and the HTML of a message."""
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None and html is not None
    return plain.get_content(), html.get_content()


def use_server(settings: Any, port: int) -> None:
    """Have the hub of this test send its e-mail to a port of this machine."""
    settings.MEMORYHUB_SENDS_MAIL = True
    settings.MEMORYHUB_MAIL_SERVER = {
        "host": "127.0.0.1", "port": port, "user": "", "password": "", "tls": False, "ssl": False
    }  # fmt: skip
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", port
    settings.EMAIL_TIMEOUT = 1
    assert get_connection().port == port  # type: ignore[attr-defined]


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A mail server that the hub uses."""
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=0)
    with socket.socket() as free:  # aiosmtpd asks for a port that is known
        free.bind(("127.0.0.1", 0))
        controller.port = box.port = free.getsockname()[1]
    controller.start()
    use_server(settings, box.port)
    yield box
    controller.stop()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def in_background(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.05)
    return thread
