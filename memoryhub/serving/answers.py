"""Handing an answer to granian whole, so that no thread waits for the client that reads it.

What granian is given to send in pieces it keeps in memory without a bound, and a thread that waited for the client
would be held by it. So an answer is made to its end first: a small one goes from memory, a larger one from a file,
which granian reads as quickly as the client takes it. It has a length then, by which a client knows that a download is
whole, and one that fails while it is made is an error and not half a file.
"""

import itertools
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.http import HttpResponseBase

IN_MEMORY = 256 * 1024
KEPT_FREE = 0.5
"""Of the disk space that is free when an answer is begun, so much stays free."""
OPENED_WITHIN = 60.0
"""granian opens a file a moment after it is named; what it has opened it can read when the name is gone."""

Headers = list[tuple[str, str]]


class NoRoom(Exception):
    """There is not enough disk for the answer."""


class Answers:
    """Sends answers; `directory` is this process's own, for those that are too large for memory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._named: deque[tuple[float, str]] = deque()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in directory.glob("*.answer"):
            if not _is_running(left.name.partition("-")[0]):
                left.unlink(missing_ok=True)

    def send(self, protocol: Any, response: HttpResponseBase, *, is_head: bool) -> None:
        """Makes the answer and hands it over. Raises what the making of it raises; then nothing has been sent."""
        headers = headers_of(response)
        if is_head and response.streaming:
            protocol.response_empty(response.status_code, headers)
            return
        if not response.streaming and len(response.content) <= IN_MEMORY:  # type: ignore[attr-defined]
            protocol.response_bytes(response.status_code, headers, response.content)  # type: ignore[attr-defined]
            return
        chunks: Iterator[bytes] = iter(response)
        first = b"".join(_up_to(IN_MEMORY, chunks))
        if len(first) <= IN_MEMORY:
            protocol.response_bytes(response.status_code, headers, first)
        else:
            self._from_file(protocol, response.status_code, headers, itertools.chain((first,), chunks))

    def _from_file(self, protocol: Any, status: int, headers: Headers, chunks: Iterable[bytes]) -> None:
        try:
            number, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".answer", dir=self.directory)
        except OSError as error:
            raise NoRoom from error
        try:
            with os.fdopen(number, "wb") as file:
                self._write(file, chunks)
                length = file.tell()
            if not any(key.lower() == "content-length" for key, _ in headers):
                headers.append(("content-length", str(length)))
            protocol.response_file(status, headers, name)
        except BaseException:
            Path(name).unlink()
            raise
        self._named.append((time.monotonic() + OPENED_WITHIN, name))

    def forget(self) -> None:
        """Removes the names of files that granian has opened by now."""
        while self._named and self._named[0][0] < time.monotonic():
            Path(self._named.popleft()[1]).unlink(missing_ok=True)

    def _write(self, file: Any, chunks: Iterable[bytes]) -> None:
        room = shutil.disk_usage(self.directory).free * (1 - KEPT_FREE)
        for chunk in chunks:
            room -= len(chunk)
            if room < 0:
                raise NoRoom
            try:
                file.write(chunk)
            except OSError as error:
                raise NoRoom from error


def _up_to(size: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces until they are larger than `size` together, or until there are no more."""
    for chunk in chunks:
        yield chunk
        size -= len(chunk)
        if size < 0:
            return


def headers_of_own(response: HttpResponseBase) -> Headers:
    """The headers of an answer that the server makes by itself: nobody keeps it or guesses its kind."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return headers_of(response)


def headers_of(response: HttpResponseBase) -> Headers:
    return [*response.items(), *(("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values())]


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (ValueError, PermissionError):
        pass
    return int(process) != os.getpid() if process.isdecimal() else False
