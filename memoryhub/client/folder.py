"""The files of a directory that is kept in step with a memory store."""

import hashlib
import os
from pathlib import Path

OWN = ".memoryhub"
"""The subdirectory for the state of `hub-memory-sync`, and for texts that the hub did not accept."""
MOST_BYTES = 1_048_576
"""The most bytes of a file. The hub accepts no larger text in one request."""


class Busy(Exception):
    """A file changed while it was compared. The next comparison reads it again."""


class Folder:
    """The files of a directory, by their relative paths with `/`.

    Names that begin with a dot and names that are not UTF-8 are left out. So are symbolic links, because their targets
    may be outside the directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: dict[str, tuple[tuple[int, int, int], str | None]] = {}

    def scan(self) -> dict[str, str | None]:
        """Return {path: digest} of all files. The digest is None for a file that cannot be a memory.

        Raises OSError if a file cannot be read, because the file must not count as deleted.
        """
        found = {relative: self._digest(relative, entry) for relative, entry in self._entries(self.root, "")}
        self._seen = {relative: self._seen[relative] for relative in found}
        return found

    def _entries(self, directory: Path, before: str) -> list[tuple[str, "os.DirEntry[str]"]]:
        found = []
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.is_symlink() or not _is_text(entry.name):
                    continue
                if entry.is_dir():
                    found += self._entries(Path(entry.path), f"{before}{entry.name}/")
                elif entry.is_file():
                    found.append((before + entry.name, entry))
        return found

    def _digest(self, relative: str, entry: "os.DirEntry[str]") -> str | None:
        """Return the digest of a file, or None if it cannot be a memory. The file is read only if it seems to have
        changed."""
        about = entry.stat()
        mark = (about.st_mtime_ns, about.st_size, about.st_ino)
        if relative not in self._seen or self._seen[relative][0] != mark:
            digest = digest_of(self.read(relative)) if about.st_size <= MOST_BYTES else None
            self._seen[relative] = (mark, digest)
        return self._seen[relative][1]

    def read(self, relative: str) -> bytes | None:
        """Return the bytes of a file, or None if there is none."""
        try:
            return (self.root / relative).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def require(self, relative: str, was: str | None) -> None:
        """Raise Busy if the digest of a file is no longer `was` (None: there was no file), or if it is a symbolic link.

        Raises OSError if no file can be at this path, or if the path is outside the directory.
        """
        target = self.root / relative
        place = next(parent for parent in target.parents if parent.exists())
        if not place.is_dir() or not place.resolve().is_relative_to(self.root):
            raise OSError(f"{place} is no directory here, or leads outside")
        if target.is_symlink() or digest_of(self.read(relative)) != was:
            raise Busy(relative)

    def put(self, relative: str, data: bytes | None, was: str | None) -> None:
        """Write `data` into a file, or remove the file if `data` is None. Raises as `require` does."""
        self.require(relative, was)
        target = self.root / relative
        if data is not None:
            self.store(relative, data)
            return
        target.unlink()
        for directory in target.relative_to(self.root).parents:
            if str(directory) == "." or any((self.root / directory).iterdir()):
                break
            (self.root / directory).rmdir()

    def store(self, relative: str, data: bytes) -> None:
        """Write a file in one step: a program that reads it sees either the old or the new text."""
        target, part = self.root / relative, self.root / OWN / f"part-{os.getpid()}"
        target.parent.mkdir(parents=True, exist_ok=True)
        part.parent.mkdir(mode=0o700, exist_ok=True)
        part.write_bytes(data)
        part.replace(target)


def _is_text(name: str) -> bool:
    """Return whether a name is text. Python shows bytes that are not UTF-8 as unpaired surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def digest_of(data: bytes | None) -> str | None:
    """Return the digest by which the hub knows a text. None if `data` is None, or bytes that are no text."""
    try:
        return None if data is None else hashlib.sha256(data.decode("utf-8").encode()).hexdigest()
    except UnicodeDecodeError:
        return None
