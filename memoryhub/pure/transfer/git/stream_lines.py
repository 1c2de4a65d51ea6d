"""Reads the lines and the data of a `git fast-import` stream, and paths as git quotes them."""

import re

from memoryhub.pure.transfer import reading
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Data, visible

_COUNT = re.compile(rb"data (\d{1,10})")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*+)"')
_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[abfnrtv\\"])|\\.', re.DOTALL)
_MOST_QUOTED = 4 * reading.MOST_PLACE
"""The most bytes of a quoted path: each byte of a path takes at most four, as in `\\303`."""
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Lines:
    """A stream, and the position up to which it has been read."""

    def __init__(self, data: Data) -> None:
        self.data, self.at = data, 0

    def peek(self) -> bytes | None:
        """Return the next line without its end, but do not move past it; None at the end of the stream.

        Raises Refused for an incomplete line.
        """
        if self.at >= len(self.data):
            return None
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise Refused("The stream is cut off: its last line has no end.")
        return self.data[self.at : end]

    def next(self) -> bytes | None:
        """Return the next line and move past it."""
        line = self.peek()
        if line is not None:
            self.at += len(line) + 1
        return line

    def rest(self) -> bytes:
        return self.data[self.at :]

    def optional(self, word: bytes, *, whole: bool = False) -> bytes | None:
        """If the next line begins with `word`, move past this line and return its rest; otherwise return None.

        With `whole`, the word is returned too.
        """
        line = self.peek()
        if line is None or not line.startswith(word):
            return None
        self.next()
        return line if whole else line[len(word) :]

    def blob(self) -> bytes:
        """Return the data after a `data` line, which says how long the data is. Raises Refused."""
        line = self.next()
        if line is None:
            raise Refused("The stream is cut off: data is missing.")
        match = _COUNT.fullmatch(line)
        if match is None:
            raise Refused(f"The stream has data of an unknown length: {visible(line.decode('utf-8', 'replace'))}.")
        length = int(match[1])
        content = self.data[self.at : self.at + length]
        if len(content) != length:
            raise Refused("The stream is cut off: there is less data than it says.")
        self.at += length
        if self.data[self.at : self.at + 1] == b"\n":
            self.at += 1
        return content


def unquoted(rest: bytes, *, ends: bytes = b"") -> tuple[str, bytes]:
    """Return (path, the bytes after the path and after `ends`).

    `ends` is the character that follows the path. If `ends` is empty, the path is the whole `rest` of the line. The
    path may be in quotes, as git writes them. Raises Refused if the quotes are wrong, if a path in quotes is too long,
    or if a path is not UTF-8.
    """
    match = _QUOTED.match(rest)
    if match is not None and len(match[1]) > _MOST_QUOTED:
        raise Refused(f"A place of the stream is longer than {reading.MOST_PLACE:,} bytes.")
    if match is not None:
        raw, behind = _ESCAPE.sub(_letter, match[1]), rest[match.end() :]
        if behind[:1] not in (ends, b"") or (behind and not ends):
            raise Refused("A place of the stream is not quoted as git quotes it.")
        behind = behind[1:]
    elif rest.startswith(b'"'):
        raise Refused("A place of the stream is not quoted as git quotes it.")
    elif ends:
        raw, _, behind = rest.partition(ends)
    else:
        raw, behind = rest, b""
    try:
        return raw.decode("utf-8"), behind
    except UnicodeDecodeError:
        raise Refused(f"The name {visible(raw.decode('utf-8', 'replace'))} is not UTF-8.") from None


def _letter(match: "re.Match[bytes]") -> bytes:
    escaped = match[1]
    if escaped is None:
        raise Refused("A place of the stream is not quoted as git quotes it.")
    return bytes([int(escaped, 8)]) if escaped[:1].isdigit() else _LETTERS.get(escaped, escaped)
