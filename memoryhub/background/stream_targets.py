"""Where the audit stream goes: standard output, a file, or a syslog server."""

import os
import sys
from collections.abc import Sequence
from logging import LogRecord, makeLogRecord
from logging.handlers import SysLogHandler
from pathlib import Path
from socket import SOCK_DGRAM, SOCK_STREAM
from typing import Protocol
from urllib.parse import urlsplit

LOCAL_SYSLOG = "/dev/log"
SECONDS = 10.0
"""How long a syslog server may take."""


class Target(Protocol):
    """A destination of lines. `write` returns when the lines have been written or sent; if this fails, it raises
    OSError."""

    def write(self, lines: Sequence[str]) -> None: ...


def of(address: str) -> Target | None:
    """Return the target of an address; None for an empty address. Raises ValueError if the address names no target."""
    if not address:
        return None
    if address == "stdout":
        return Standard()
    if address == "syslog":
        return Syslog(LOCAL_SYSLOG)
    if address.startswith("/"):
        return File(Path(address))
    url = urlsplit(address)
    if url.scheme == "syslog" and url.hostname and url.port and not (url.path or url.query or url.username):
        return Syslog((url.hostname, url.port))
    raise ValueError(address)


class Standard:
    """Standard output."""

    def write(self, lines: Sequence[str]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


class File:
    """A file. It is opened for each write, so that it may be moved away at any time. After a write, the lines are on
    the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, lines: Sequence[str]) -> None:
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if (size := os.lseek(descriptor, 0, os.SEEK_END)) and os.pread(descriptor, 1, size - 1) != b"\n":
                lines = ["", *lines]  # an earlier attempt was cut off; all its lines are written again
            data = memoryview("".join(f"{line}\n" for line in lines).encode())
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Syslog:
    """A syslog server: of this machine, or over TCP. It confirms nothing: lines may be lost when the connection
    breaks."""

    def __init__(self, address: str | tuple[str, int]) -> None:
        self.address = address
        self.handler: _Handler | None = None

    def write(self, lines: Sequence[str]) -> None:
        try:
            if self.handler is None:
                self.handler = _Handler(self.address)
            for line in lines:
                self.handler.emit(makeLogRecord({"msg": line, "levelname": "INFO"}))
        except OSError:
            if self.handler is not None:
                self.handler.close()
            self.handler = None
            raise


class _Handler(SysLogHandler):
    """The standard library's syslog client with two changes.

    It raises errors instead of printing them, and over TCP it ends each line with a line feed.
    """

    ident = "memoryhub: "

    def __init__(self, address: str | tuple[str, int]) -> None:
        is_local = isinstance(address, str)
        self.append_nul = is_local
        super().__init__(address, SysLogHandler.LOG_LOCAL0, SOCK_DGRAM if is_local else SOCK_STREAM)
        getattr(self, "socket").settimeout(SECONDS)  # noqa: B009 - typeshed does not know it

    def format(self, record: LogRecord) -> str:
        return str(record.msg) if self.append_nul else f"{record.msg}\n"

    def handleError(self, record: LogRecord) -> None:  # noqa: N802
        raise  # noqa: PLE0704 - it is called while the error is handled
