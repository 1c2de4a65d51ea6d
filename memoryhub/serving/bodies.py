"""Reading a request's body in the event loop, within bounds of bytes, time and rate."""

import tempfile
import time
from collections.abc import AsyncIterator
from enum import Enum
from io import BytesIO
from typing import IO, Any

GRACE = 20.0
SLOWEST = 1000
"""After GRACE seconds a body must have come at SLOWEST bytes a second, and it never pauses for longer than GRACE."""
IN_MEMORY = 1024 * 1024
DRAINED = 32 * 1024 * 1024
"""So many bytes of a body that is too large are read and thrown away: most clients look for the answer only when they
have sent everything, and a connection that is closed while they send takes the answer with it."""


class End(Enum):
    """How the reading of a body ended."""

    WHOLE = "whole"
    TOO_LARGE = "too large"
    BROKEN = "broken"
    """The client has gone, or what it sent is no body."""
    CUT = "cut"
    """It came too slowly, or the server cannot wait for it."""


class Body:
    """The body of one request while it is read.

    `length` is what the client announced, None for one in chunks. Of a body that is larger than `most` bytes, one byte
    more is kept, by which whoever reads it sees that it is.
    """

    def __init__(self, protocol: Any, length: int | None, most: int) -> None:
        self.length, self.most, self.drained = length, most, DRAINED
        self.received, self.kept = 0, 0
        self.begun = self.last = time.monotonic()
        self._protocol = protocol
        self._chunks: AsyncIterator[bytes] | None = None
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None

    async def read(self) -> End:
        """Reads up to the end of the body, or until it is larger than it may be."""
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
        """Reads what is left and throws it away, up to `drained` bytes."""
        while self.received != self.length and self.received < self.most + self.drained:
            if not await self._next():
                return

    def is_too_slow(self, now: float) -> bool:
        spent = now - self.begun
        return now - self.last > GRACE or (spent > GRACE and self.received < (spent - GRACE) * SLOWEST)

    def stream(self) -> IO[bytes]:
        """What was kept, from its start."""
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
        chunk = await self._chunks.__anext__()
        self.received += len(chunk)
        self.last = time.monotonic()
        return chunk

    async def _ended(self) -> End:
        """granian says with an empty chunk that a body in chunks is over, and with a second one that it broke off."""
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
