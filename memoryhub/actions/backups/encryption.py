"""Encryption of backups with age, in bounded memory.

A backup has three parts: a line with the SHA-256 of the key block; the key block; and an age file with the data.
If the backup has a passphrase, the key block is an armored age file, which the passphrase decrypts. It contains the
private key (age's "identity") that decrypts the data. If the backup has a public key, the key block is empty.

The program `age` can decrypt these age files without MemoryHub. If the key block does not match its
SHA-256, the file is damaged. If it matches and the passphrase does not decrypt it, the passphrase is wrong.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyrage

MAGIC = b"MemoryHub backup 1 "
END = b"-----END AGE ENCRYPTED FILE-----\n"
LONGEST_HEAD = 16 * 1024


class NotOpened(Exception):
    """A backup cannot be opened; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The key that encrypts backups: a passphrase, or an age public key (`recipient`)."""

    passphrase: str = ""
    recipient: str = ""

    @property
    def is_there(self) -> bool:
        return bool(self.passphrase or self.recipient)


class _Noting:
    """A writable object over a file. It keeps the OSError of a failed write."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def write(self, block: bytes) -> int:
        try:
            return self.stream.write(block)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self.stream.flush()


class _Blocks:
    """A readable object over blocks of bytes."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.blocks, self.rest = iter(blocks), b""

    def read(self, size: int = -1) -> bytes:
        while not self.rest:
            block = next(self.blocks, None)
            if block is None:
                return b""
            self.rest = block
        size = len(self.rest) if size < 0 else size
        given, self.rest = self.rest[:size], self.rest[size:]
        return given


def write(path: Path, blocks: Iterable[bytes], keys: Keys) -> Any:
    """Write an encrypted backup. Return an age identity with which this process can check the backup.

    If `keys` is a public key, this identity is stored nowhere. Raises OSError, for example on a full disk.
    """
    own = pyrage.x25519.Identity.generate()
    recipients, block = [own.to_public()], b""
    if keys.recipient:
        recipients.append(pyrage.x25519.Recipient.from_str(keys.recipient))
    else:
        block = pyrage.passphrase.encrypt(str(own).encode(), keys.passphrase, armored=True)
    with path.open("xb") as stream:
        stream.write(MAGIC + hashlib.sha256(block).hexdigest().encode() + b"\n" + block)
        noting = _Noting(stream)
        try:
            pyrage.encrypt_io(_Blocks(blocks), noting, recipients)
        except pyrage.EncryptError as error:
            raise noting.error or OSError(str(error)) from error
        stream.flush()
        os.fsync(stream.fileno())
    return own


def identity(path: Path, passphrase: str, identities: str) -> list[Any]:
    """Return the age identities that decrypt a backup. Raises NotOpened.

    They come from `passphrase`, or from `identities`, the text of an identity file.
    """
    with path.open("rb") as stream:
        block = _head(stream)
    if not block:
        return _identities(identities)
    if not passphrase:
        raise NotOpened("The backup needs its passphrase: set MEMORYHUB_BACKUP_PASSPHRASE to it.")
    for tried in (passphrase, f"{passphrase}\n"):  # older hubs took a line break at the end of the variable with it
        with suppress(pyrage.DecryptError):
            return [pyrage.x25519.Identity.from_str(pyrage.passphrase.decrypt(block, tried).decode())]
    raise NotOpened("MEMORYHUB_BACKUP_PASSPHRASE is not the passphrase of this backup.")


def _identities(text: str) -> list[Any]:
    lines = [line.strip() for line in text.splitlines() if line.startswith("AGE-SECRET-KEY-")]
    if not lines:
        raise NotOpened("The backup was made for a public key: name the file with its secret key with --identity.")
    try:
        return [pyrage.x25519.Identity.from_str(line) for line in lines]
    except pyrage.IdentityError:
        raise NotOpened("The file that --identity names has no valid age key.") from None


def _head(stream: IO[bytes]) -> bytes:
    """Read the stream up to the start of the age file, and return the key block. Raises NotOpened."""
    first = stream.readline(256)
    if not first.startswith(MAGIC):
        raise NotOpened("The file is not a backup of MemoryHub, or its first bytes are damaged.")
    digest = first[len(MAGIC) :].strip().decode("ascii", "replace")
    block = b""
    if digest != hashlib.sha256(b"").hexdigest():
        while not block.endswith(END) and len(block) < LONGEST_HEAD and (line := stream.readline(256)):
            block += line
    if hashlib.sha256(block).hexdigest() != digest:
        raise NotOpened("The backup is damaged: its key block is not as it was written.")
    return block


@contextmanager
def opened(path: Path, identities: list[Any]) -> Iterator[IO[bytes]]:
    """Yield a stream of the decrypted bytes. They can be trusted only after the `with` block.

    If the backup cannot be decrypted, the stream ends early, and NotOpened is raised at the end of the block.
    """
    inner, outer = os.pipe()
    failed: list[BaseException] = []

    def decrypt() -> None:
        try:
            with os.fdopen(outer, "wb") as target, path.open("rb") as source:
                _head(source)
                pyrage.decrypt_io(source, target, identities)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=decrypt, daemon=True)
    thread.start()
    error: Exception | None = None
    try:
        with os.fdopen(inner, "rb") as stream:
            try:
                yield stream
            except Exception as raised:
                error = raised
            while error is None and stream.read(1024 * 1024):
                pass
    finally:
        thread.join()
    if failed and not isinstance(failed[0], BrokenPipeError):
        raise _explained(failed[0]) from failed[0]
    if error is not None:
        raise error


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, pyrage.DecryptError) and "matching" in str(error):
        return NotOpened(
            "The key is not one for which this backup was made, or the first bytes of the file are damaged."
        )
    if isinstance(error, pyrage.DecryptError) or (isinstance(error, OSError) and error.errno is None):
        return NotOpened("The backup is damaged: a part of it is not as it was written, or is missing.")
    return error
