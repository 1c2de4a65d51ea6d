"""Hands complete answers to granian, so that no thread waits while a client reads an answer.

granian would buffer a streamed answer in memory without a limit. So a small answer is sent from memory, and a large one
from a file. The client learns the length of the answer, and a failure while the answer is made becomes an error, not
half a file.

The files of all answers in transit take at most half of the disk space that would be free without them. A file keeps
its name while granian has it open, so that every worker can count the files of all workers.
"""

import contextlib
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.http import HttpResponseBase

IN_MEMORY = 256 * 1024
KEPT_FREE = 0.5
"""The share of the disk space that stays free, however slowly clients read. It is a share of the space that would be
free without the answers."""
OPENED_WITHIN = 60.0
"""Seconds after which granian must have opened a file of an answer. After that, the worker checks whether the file is
still open."""
LOOK_EVERY = 5.0

NAME = "answers"
"""The directory for the files of answers, in the data directory."""

Headers = list[tuple[str, str]]


class NoRoom(Exception):
    """The disk has too little free space for the answer."""


class Answers:
    """Sends answers. Answers of more than IN_MEMORY bytes are written into `directory` first."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory = directory.resolve()
        self._named: deque[tuple[float, str]] = deque()
        self._looked = 0.0
        for left in directory.glob("*.answer"):
            if not _is_running(left.name.partition("-")[0]):
                left.unlink(missing_ok=True)

    def send(self, protocol: Any, response: HttpResponseBase, *, is_head: bool) -> None:
        """Complete the answer and hand it to granian. For HEAD (`is_head`), a streamed answer is sent without its body.

        If making the answer raises an exception, nothing has been sent.
        """
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
        name = ""
        try:
            try:
                number, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".answer", dir=self.directory)
            except OSError as error:
                raise NoRoom from error
            with os.fdopen(number, "wb") as file:
                self._write(file, chunks)
                length = file.tell()
            if not any(key.lower() == "content-length" for key, _ in headers):
                headers.append(("content-length", str(length)))
            self._named.append((time.monotonic() + OPENED_WITHIN, name))
        except BaseException:
            if name:
                Path(name).unlink()
            raise
        protocol.response_file(status, headers, name)

    def forget(self) -> None:
        """Remove the files of answers that have been sent."""
        now = time.monotonic()
        if not self._named or self._named[0][0] >= now or now - self._looked < LOOK_EVERY:
            return
        self._looked, still_open = now, _open_files()
        while self._named and self._named[0][0] < now:
            name = self._named.popleft()[1]
            if name in still_open:
                self._named.append((now + OPENED_WITHIN, name))
            else:
                Path(name).unlink(missing_ok=True)

    def _room(self) -> float:
        """Return how many bytes of the disk all further answers together may take."""
        taken = 0
        for file in self.directory.glob("*.answer"):
            with contextlib.suppress(FileNotFoundError):
                taken += file.stat().st_size
        return (shutil.disk_usage(self.directory).free + taken) * (1 - KEPT_FREE) - taken

    def _write(self, file: Any, chunks: Iterable[bytes]) -> None:
        room = self._room()
        for chunk in chunks:
            room -= len(chunk)
            if room < 0:
                raise NoRoom
            try:
                file.write(chunk)
            except OSError as error:
                raise NoRoom from error


def remove_left(directory: Path) -> None:
    """Remove all files of answers, which a killed hub left behind.

    Call it before any worker runs: it would remove the files of running workers, too.
    """
    # A new process may have the id, and so the file names, of a killed one.
    for left in directory.glob("*.answer"):
        left.unlink(missing_ok=True)


def _up_to(size: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks until more than `size` bytes were yielded, or no chunk is left."""
    for chunk in chunks:
        yield chunk
        size -= len(chunk)
        if size < 0:
            return


def headers_of_own(response: HttpResponseBase) -> Headers:
    """Return the headers of an answer that the server itself makes. Such an answer may not be cached."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return headers_of(response)


def headers_of(response: HttpResponseBase) -> Headers:
    return [*response.items(), *(("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values())]


def _open_files() -> set[str]:
    """Return the names of the files that this process has open; an empty set if the system does not say."""
    found: set[str] = set()
    for number in Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            found.add(os.readlink(number))  # noqa: PTH115 - what it names is no path
    return found


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (ValueError, PermissionError):
        pass
    return int(process) != os.getpid() if process.isdecimal() else False
