"""The content of a backup: a tar file, compressed by gzip, whose first member says what the other members are."""

import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

FORMAT = 1
MANIFEST = "manifest.json"
SQLITE, POSTGRESQL = "memoryhub.sqlite3", "memoryhub.dump"
LARGEST_MANIFEST = 16 * 1024 * 1024
BLOCK = 256 * 1024
_MEMBER = re.compile(r"memoryhub\.(sqlite3|dump)|audit_key|secret_key|checkpoints(-\d{6,})?\.jsonl")


class Damaged(Exception):
    """The content is not what was written; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The moment of a backup, the migrations of its database, and {name: (bytes, SHA-256)} of its members.

    One member is the database. `entries` counts the verified audit entries. `problem` says what is wrong with the audit
    ("": the audit verified). `environment` has the variables of the hub that are no secrets.
    """

    made_at: str
    migrations: list[str]
    entries: int
    problem: str
    environment: dict[str, str]
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def database(self) -> str:
        """Return the name of the member that is the database."""
        return SQLITE if SQLITE in self.files else POSTGRESQL


def described(files: Mapping[str, Path]) -> dict[str, tuple[int, str]]:
    """Return {name: (bytes, SHA-256)} of `files`, which are {name: path}."""
    found = {}
    for name, path in files.items():
        with path.open("rb") as stream:
            found[name] = path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def packed(manifest: Manifest, files: Mapping[str, Path]) -> Iterator[bytes]:
    """Yield the bytes of the archive. The files must not change until the last byte is read."""
    squeezed = zlib.compressobj(1, wbits=31)
    for block in _tar(json.dumps(asdict(manifest)).encode(), files):
        yield squeezed.compress(block)
    yield squeezed.flush()


def _tar(manifest: bytes, files: Mapping[str, Path]) -> Iterator[bytes]:
    yield from (_header(MANIFEST, len(manifest)), manifest, _padding(len(manifest)))
    for name, path in files.items():
        size = path.stat().st_size
        yield _header(name, size)
        with path.open("rb") as stream:
            yield from iter(lambda stream=stream: stream.read(BLOCK), b"")  # type: ignore[misc]
        yield _padding(size)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _header(name: str, size: int) -> bytes:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size, 0o600
    return about.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


def unpacked(stream: IO[bytes], directory: Path | None) -> Manifest:
    """Write the members into the empty `directory` (None: only check them). Return the manifest.

    Raises Damaged if the archive cannot be read, or if its members are not as the manifest describes them.
    """
    try:
        with tarfile.open(fileobj=stream, mode="r|gz") as members:
            manifest = _manifest(members, members.next())
            there = set()
            for member in iter(members.next, None):
                if member.name not in manifest.files or not member.isreg() or not _MEMBER.fullmatch(member.name):
                    raise Damaged(f"It has a member that does not belong to it: {member.name!r}.")
                source = members.extractfile(member)
                _copy(source or io.BytesIO(), directory and directory / member.name, *manifest.files[member.name])
                there.add(member.name)
    except (tarfile.TarError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"It cannot be read: {error}.") from error
    if absent := manifest.files.keys() - there:
        raise Damaged(f"It lacks {', '.join(sorted(absent))}.")
    return manifest


def _manifest(members: tarfile.TarFile, first: tarfile.TarInfo | None) -> Manifest:
    if first is None or first.name != MANIFEST or first.size > LARGEST_MANIFEST:
        raise Damaged("It does not begin with a manifest.")
    source = members.extractfile(first)
    read = json.loads(source.read()) if source else {}
    if read.get("format") != FORMAT:
        raise Damaged(f"It has the format {read.get('format')!r}, which this MemoryHub does not know.")
    datetime.fromisoformat(read["made_at"])
    return Manifest(**read | {"files": {name: (int(size), str(sha)) for name, (size, sha) in read["files"].items()}})


def _copy(source: IO[bytes], path: Path | None, size: int, sha256: str) -> None:
    digest, count = hashlib.sha256(), 0
    with path.open("xb") if path else io.BytesIO() as target:
        for block in _blocks(source):
            digest.update(block)
            count += len(block)
            if count > size:
                break
            if path:
                target.write(block)
    if (count, digest.hexdigest()) != (size, sha256):
        raise Damaged("One of its members is not as it was written.")


def _blocks(source: IO[bytes]) -> Iterable[bytes]:
    return iter(lambda: source.read(BLOCK), b"")
