"""Django's e-mail backend for SMTP, which waits longer (PATIENCE) for the server's answer after a message.

RFC 5321 (4.5.3.2.6) asks for this: a client that hangs up too early sends the message again, and it arrives twice.
"""

import smtplib
from typing import Any

from django.core.mail.backends import smtp

PATIENCE = 300.0
"""Seconds to wait for the answer to a message; for every other answer, EMAIL_TIMEOUT is long enough."""


class _Patient(smtplib.SMTP):
    def data(self, msg: Any) -> tuple[int, bytes]:
        if self.sock is not None:
            self.sock.settimeout(PATIENCE)
        try:
            return super().data(msg)
        finally:
            if self.sock is not None:
                self.sock.settimeout(self.timeout)


class _PatientTLS(_Patient, smtplib.SMTP_SSL):
    pass


class EmailBackend(smtp.EmailBackend):
    """The e-mail backend that the hub's settings name."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _PatientTLS if self.use_ssl else _Patient
