"""The sources of an import: uploaded bytes, a file, a stream, or a directory on the hub's machine."""

import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import Brought
from memoryhub.pure.transfer import reading, recognition, tree_read
from memoryhub.pure.transfer.archive.read import OWN_ENTRIES
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds, Data, Left
from memoryhub.pure.transfer.tree_read import DEFAULT, Exclude

BLOCK = 1024 * 1024


def of_bytes(
    data: Data, name: str, *, only_memory_files: bool = False, exclude: Exclude = DEFAULT, bounds: Bounds | None = None
) -> Brought:
    """Read an archive, JSON Lines, a git stream or one text from bytes. Raises Refused."""
    read = recognition.read(data, name, bounds or importing.bounds(), only_memory_files, exclude)
    return Brought(read, name)


def of_file(file: IO[bytes], name: str, **how: Any) -> Brought:
    """Read a file as `of_bytes` does, without loading the whole file. No one else may write to the file during this."""
    if not os.fstat(file.fileno()).st_size:
        return of_bytes(b"", name, **how)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return of_bytes(data, name, **how)


def of_stream(stream: IO[bytes], name: str, *, bounds: Bounds, **how: Any) -> Brought:
    """Read a pipe, or a file to which others may write, as `of_bytes` does.

    Its content is copied to a temporary file first.
    """
    with tempfile.TemporaryFile() as file:
        left = bounds.packed + 1
        while left and (block := stream.read(min(left, BLOCK))):
            left -= file.write(block)
        file.flush()
        return of_file(file, name, bounds=bounds, **how)


def of_directory(
    root: Path, *, only_memory_files: bool = False, exclude: Exclude = DEFAULT, bounds: Bounds | None = None
) -> Brought:
    """Read the texts of a directory, without following links. Raises Refused and OSError.

    Files that match `exclude` are left out. By default, these are databases and files that tools keep for themselves
    (NEVER). If the directory is an unpacked export of a hub, the patterns of NEVER do not apply to the exported texts.
    """
    bounds, left, size = bounds or importing.bounds(), [], 0
    texts: dict[str, bytes] = {}
    twice: list[str] = []
    exported = frozenset() if only_memory_files else _exported(root, bounds)
    exclude = exclude.except_for(exported)
    for place, path in _walk(root, exclude):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            why = "It is a symbolic link, and links are not followed." if stat.S_ISLNK(mode) else "It is no text."
            left.append(Left("/" + place, why))
            continue
        if place in texts:
            twice.append(place)
        texts[place] = content = _content(path, bounds.unpacked - size)
        size += len(content)
        if len(texts) + len(left) > bounds.entries + OWN_ENTRIES:
            count = sum(1 for _ in _walk(root, exclude))
            raise Refused(f"The directory has {count:,} texts; at most {bounds.entries:,} are allowed.")
        if size > bounds.unpacked:
            whole_size = sum(path.lstat().st_size for _place, path in _walk(root, exclude))
            raise Refused(
                f"The texts of the directory have {whole_size:,} bytes; at most {bounds.unpacked:,} are allowed."
            )
    reading.require_apart([*texts, *twice])
    read = tree_read.read_texts(texts, bounds, only_memory_files, "directory")
    return Brought(reading.Read(read.bundle, (*read.left, *left)), root.resolve().name or "/")


def _walk(root: Path, exclude: Exclude) -> Iterator[tuple[str, Path]]:
    """Yield (place, path) of all files and links, sorted by name, without excluded names. Raises Refused and
    OSError."""
    for directory, directories, names in os.walk(root, onerror=_raised):
        above = Path(directory)
        links = [name for name in directories if (above / name).is_symlink()]
        places = {name: reading.composed((above / name).relative_to(root).as_posix()) for name in directories}
        directories[:] = sorted(name for name in directories if not exclude.has(places[name]) and name not in links)
        for name in sorted([*names, *links]):
            path = above / name
            # Places are in NFC, so two files may have the same place.
            place = reading.composed(path.relative_to(root).as_posix())
            if exclude.has(place):
                continue
            try:
                place.encode()
            except UnicodeEncodeError:
                raise Refused(f"The name {reading.visible(place)} is not UTF-8.") from None
            yield place, path


def _raised(error: OSError) -> None:
    raise error


def _exported(root: Path, bounds: Bounds) -> frozenset[str]:
    """Return the places of the texts of an export that was unpacked in a directory; an empty set if there is no
    export."""
    path = root / tree_read.MANIFEST
    if path.parent.is_symlink() or path.is_symlink() or not path.is_file():
        return frozenset()
    return frozenset(tree_read.places(_content(path, bounds.unpacked), bounds))


def _content(path: Path, most: int) -> bytes:
    """Return the first `most` + 1 bytes of a file, or fewer if the file is shorter.

    Raises OSError if the file has just been replaced by a link.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        return opened.read(most + 1)
