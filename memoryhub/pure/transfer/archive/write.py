"""Writes a ZIP archive, piece by piece: the texts of memories at their paths, and a manifest that lists them."""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import Any

from memoryhub.pure.chain import moment
from memoryhub.pure.transfer.names import Names
from memoryhub.pure.transfer.written import About, WrittenVersion, header, line

FORMAT = "memoryhub-files"
OWN = ".memoryhub"
"""The directory for the archive's own files. A memory whose path begins with it gets another name."""
MANIFEST = f"{OWN}/manifest.jsonl"
HISTORY = f"{OWN}/history.jsonl"

_FIRST_YEAR = 1980
"""The ZIP format has no year before 1980 and none after 2107."""
_LAST_YEAR = 2107
_IN_MEMORY = 1_000_000
_PIECE = 64 * 1024


def archive(about: About, heads: Iterable[WrittenVersion], history: Iterable[bytes] | None) -> Iterator[bytes]:
    """Yield the bytes of a ZIP archive of a memory store.

    `heads` are the newest versions of the live memories, ordered by path. `history` is the content of the file HISTORY
    in the archive; if it is None, there is no such file.
    """
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as opened, SpooledTemporaryFile(_IN_MEMORY) as manifest:
        manifest.write(line(header(about, FORMAT)))
        names = Names(reserved=OWN)
        for head in heads:
            if head.version.content is not None:
                manifest.write(_member(opened, names.of(head.version.path), head, about))
                yield from pipe.taken()
        manifest.seek(0)
        for name, pieces in ((MANIFEST, iter(lambda: manifest.read(_PIECE), b"")), (HISTORY, history)):
            if pieces is not None:
                yield from _streamed(opened, _info(name, about.at), pieces, pipe)
    yield from pipe.taken()


def files(members: Iterable[tuple[str, Iterable[bytes]]], at: datetime) -> Iterator[bytes]:
    """Yield the bytes of a ZIP archive of `members`, which are (name of a file, pieces of its content)."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, pieces in members:
            yield from _streamed(opened, _info(name, at), pieces, pipe)
    yield from pipe.taken()


def hashed(pieces: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    """Yield the pieces of a file unchanged, and put them into a digest of `hashlib`."""
    for piece in pieces:
        digest.update(piece)
        yield piece


def _member(opened: zipfile.ZipFile, name: str, head: WrittenVersion, about: About) -> bytes:
    """Write the text of a version into the archive. Return the line of the manifest about this text."""
    version = head.version
    data = (version.content or "").encode("utf-8", "surrogatepass")
    opened.writestr(_info(name, version.at or about.at), data)
    return line(
        {
            "type": "file",
            "name": name,
            "path": version.path,
            "memory": head.memory,
            "version": version.id,
            "number": version.number,
            "created_at": moment(version.at) if version.at else None,
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    )


def _streamed(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, pieces: Iterable[bytes], pipe: "_Pipe"
) -> Iterator[bytes]:
    with opened.open(info, "w", force_zip64=True) as member:
        for piece in pieces:
            member.write(piece)
            yield from pipe.taken()


def _info(name: str, at: datetime) -> zipfile.ZipInfo:
    """Return the ZIP header of an entry, with permissions 0644."""
    if at.year < _FIRST_YEAR:
        date = (_FIRST_YEAR, 1, 1, 0, 0, 0)
    elif at.year > _LAST_YEAR:
        date = (_LAST_YEAR, 12, 31, 23, 59, 58)
    else:
        date = (at.year, at.month, at.day, at.hour, at.minute, at.second)
    info = zipfile.ZipInfo(name, date)
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return info


class _Pipe:
    """A file object for `zipfile` that cannot seek. `taken` returns the bytes that were written since it was last
    called."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def taken(self) -> Iterator[bytes]:
        pieces, self._pieces = self._pieces, []
        if pieces:
            yield b"".join(pieces)
