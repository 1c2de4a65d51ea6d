"""Reads a request's body as it arrives, within limits of size, time and rate."""

import tempfile
import time
from collections.abc import AsyncIterator
from enum import Enum
from io import BytesIO
from typing import IO, Any

GRACE = 20.0
SLOWEST = 1000
"""After GRACE seconds, a body must have arrived at SLOWEST bytes a second on average. No pause may be longer than
GRACE."""
IN_MEMORY = 1024 * 1024
DRAINED = 32 * 1024 * 1024
"""How many bytes of a body that is too large are read and discarded.

Most clients read the answer only after they have sent the whole body. If the connection were closed before, the answer
would be lost.
"""


class End(Enum):
    """How the reading of a body ended."""

    WHOLE = "whole"
    TOO_LARGE = "too large"
    BROKEN = "broken"
    """The client has gone, or sent an invalid body."""
    CUT = "cut"
    """The body arrived too slowly, or the server could not wait for it."""


class Body:
    """The body of one request while it is read.

    `length` is the announced length (None: the body comes in chunks). Of a body that is larger than `most` bytes,
    `most` + 1 bytes are kept, so that the code that uses them notices that the body is too large.
    """

    def __init__(self, protocol: Any, length: int | None, most: int) -> None:
        self.length, self.most, self.drained = length, most, DRAINED
        self.received, self.kept = 0, 0
        self.begun = self.last = time.monotonic()
        self._protocol = protocol
        self._chunks: AsyncIterator[bytes] | None = None
        self._awaited: Any = None
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None

    async def read(self) -> End:
        """Read until the body ends or is too large. Return which of these happened, or that the body was broken off."""
        while self.received != self.length:
            chunk = await self._next()
            if not chunk:
                return await self._ended()
            room = self.most + 1 - self.kept
            self._keep(chunk if len(chunk) <= room else chunk[:room])
            if self.received > self.most:
                return End.TOO_LARGE
        return End.WHOLE

    async def drain(self) -> None:
        """Read and discard the rest of the body, up to `drained` bytes beyond the limit."""
        while self.received != self.length and self.received < self.most + self.drained:
            if not await self._next():
                return

    def cut(self) -> None:
        """Raise CancelledError in the code that awaits the next part of this body."""
        if self._awaited is not None:
            self._awaited.cancel()

    def is_too_slow(self, now: float) -> bool:
        spent = now - self.begun
        return now - self.last > GRACE or (spent > GRACE and self.received < (spent - GRACE) * SLOWEST)

    def stream(self) -> IO[bytes]:
        """Return the kept bytes as a stream, positioned at the start."""
        if self._file is None:
            return BytesIO(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def in_memory(self) -> int:
        return self.kept if self._file is None else 0

    @property
    def on_disk(self) -> int:
        return self.kept - self.in_memory

    async def _next(self) -> bytes:
        if self._chunks is None:
            self._chunks = self._protocol.__aiter__()
        self._awaited = self._chunks.__anext__()
        chunk = await self._awaited
        self.received += len(chunk)
        self.last = time.monotonic()
        return chunk

    async def _ended(self) -> End:
        """Return how the body ended, when an empty chunk has come.

        If the length of the body was announced, the body is incomplete. If the body came in chunks, it is complete
        unless granian sends a second empty chunk.
        """
        if self.length is not None:
            return End.BROKEN
        try:
            await self._next()
        except StopAsyncIteration:
            return End.WHOLE
        return End.BROKEN

    def _keep(self, chunk: bytes) -> None:
        self.kept += len(chunk)
        if self._file is None and self.kept > IN_MEMORY:
            self._file = tempfile.TemporaryFile(prefix="memoryhub-body-")  # noqa: SIM115
            self._file.writelines(self._parts)
            self._parts = []
        if self._file is None:
            self._parts.append(chunk)
        else:
            self._file.write(chunk)
