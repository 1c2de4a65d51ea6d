"""What all readers of imported bytes share: limits, allowed places, and texts that cannot become a memory."""

import mmap
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import Bundle, BundledMemory, BundledVersion, Refused

Data = bytes | mmap.mmap
"""The imported bytes, in memory or as a mapped file. A mapped file does not have all methods of bytes."""

MARKED = "The name .anthropic-memory-store is reserved."
"""The reason why a marker that the SDK wrote into its copy of a store is not imported. A memory of an export is
imported even if it has a marker's name."""

MOST_PLACE = 4_096
"""The most bytes of a place: as many as the path of a file can have. To compose a longer place could take long."""

_DRIVE = re.compile(r"[A-Za-z]:")
_ARCHIVES = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x28\xb5\x2f\xfd",
)


class Bounds(NamedTuple):
    """The highest numbers of packed bytes, unpacked bytes, entries and versions.

    Data that unpacks to more than `small` bytes may unpack to at most `ratio` times its own size.
    """

    packed: int = 256 * 1024 * 1024
    unpacked: int = 512 * 1024 * 1024
    entries: int = 20_000
    versions: int = 200_000
    # Below `small` there is no limit: a full store of equal lines compresses as well as a decompression bomb.
    ratio: int = 100
    small: int = 100 * 1024 * 1024


class Left(NamedTuple):
    """A file or memory that is not imported. The reason for this is a sentence."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Read:
    """The result of a reader. `left` lists everything that is not imported."""

    bundle: Bundle
    left: tuple[Left, ...] = ()


def require_size(data: Data, bounds: Bounds) -> None:
    """Raise Refused if there are more bytes than allowed."""
    if len(data) > bounds.packed:
        raise Refused(f"It has {len(data):,} bytes; at most {bounds.packed:,} are allowed.")


def require_place(name: str, *, posix: bool = False) -> str:
    """Return the place `name` of an archive or stream, in NFC.

    Raises Refused for a place that is absolute, or that has `.`, `..` or an empty name in it. Without `posix`, a
    backslash is refused too, and so is a drive at the start, such as `a:`. With `posix`, both may be in a name, as in
    git's trees.
    """
    shown = visible(name)
    if not name:
        raise Refused("A place in it has no name.")
    if "\0" in name:
        raise Refused(f"The place {shown} has a NUL in its name.")
    if "\\" in name and not posix:
        raise Refused(f"The place {shown} has a backslash in its name.")
    if name.startswith("/"):
        raise Refused(f"The place {shown} is absolute.")
    if _DRIVE.match(name) and not posix:
        raise Refused(f"The place {shown} begins with a drive letter.")
    parts = name.split("/")
    if ".." in parts:
        raise Refused(f"The place {shown} leads out of its directory (..).")
    if "." in parts or "" in parts:
        raise Refused(f"The place {shown} has an empty name or a single dot in it.")
    return composed(name)


def composed(name: str) -> str:
    """Return a place in NFC, as paths are stored. Raises Refused for more than MOST_PLACE bytes."""
    if len(name.encode("utf-8", "surrogatepass")) > MOST_PLACE:
        raise Refused(f"The place {visible(name)} is longer than {MOST_PLACE:,} bytes.")
    return unicodedata.normalize("NFC", name)


def require_apart(names: Iterable[str]) -> None:
    """Raise Refused if a place occurs twice, or if it is both a text and a directory of another text."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            forms = "" if name.isascii() else ", perhaps in two Unicode forms, which are one name here"
            raise Refused(f"The place {visible(name)} is there twice{forms}.")
        seen.add(name)
    for name in seen:
        parts = name.split("/")
        if len(parts) > paths.MOST_NAMES:  # no memory can be there
            continue
        for end in range(1, len(parts)):
            if "/".join(parts[:end]) in seen:
                raise Refused(f"The place {visible('/'.join(parts[:end]))} is both a text and a directory.")


def refusal_of(path: str) -> str | None:
    """Return why no memory can have `path`, a path in the API's form. None if a memory can have it."""
    try:
        accepted = paths.from_tool(paths.to_tool(path), creates=True)
    except ToolError as error:
        rule = error.message.partition(" is not allowed: ")[2]
        return f"Its path is not allowed: {rule}." if rule else "Its path leads out of the memory store."
    return None if accepted == path and path else "It is not a memory's path."


def is_marker(path: str) -> bool:
    """Return whether a path is a marker of the SDK or is under one. Each directory that the SDK copied has a marker."""
    return paths.is_sync_marker(path) or path.endswith(paths.SYNC_MARKER)


def text_of(content: bytes) -> str | None:
    """Return the text that these bytes encode in UTF-8. None if they are not UTF-8 or contain a NUL."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def why_no_text(content: bytes) -> str:
    """Return the sentence that says why bytes that are no text are not imported."""
    if content.startswith(_ARCHIVES):
        return "It is an archive, and archives inside are not unpacked."
    return "It is not a text, and memories are texts."


def memories_of(
    texts: Iterable[tuple[str, bytes]], exported: Container[str] = ()
) -> tuple[tuple[BundledMemory, ...], tuple[Left, ...]]:
    """Return the memories that are made of `texts`, and a Left for each text that cannot become a memory.

    `texts` are (place, bytes). `exported` are the paths of memories that an export lists. None of these counts as a
    marker of the SDK.
    """
    memories: list[BundledMemory] = []
    left: list[Left] = []
    for name, content in texts:
        path = "/" + name
        text = text_of(content)
        why = refusal_of(path) if text is not None else why_no_text(content)
        if is_marker(path) and path not in exported:
            why = MARKED
        if why is not None or text is None:
            left.append(Left(path, why or ""))
        else:
            memories.append(plain(path, text))
    return tuple(memories), tuple(left)


def plain(path: str, content: str) -> BundledMemory:
    """Return a memory about which nothing but the path and the text is known."""
    return BundledMemory(None, path, (BundledVersion(None, 1, "created", path, content, None, None),))


def require_some(read: Read) -> Read:
    """Return `read` unchanged. Raises Refused if it has no memory and no proposal."""
    if read.bundle.memories or read.bundle.proposals:
        return read
    if read.left:
        first = read.left[0]
        raise Refused(f"Nothing in it can be a memory. {visible(first.path)}: {first.why}")
    raise Refused("There is no memory in it.")


def visible(name: str) -> str:
    """Return a name from elsewhere for use in sentences: its first 120 characters, in quotes, with U+FFFD in place of
    each invisible character."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in name[:120])
    return f"“{shown}{'…' if len(name) > 120 else ''}”"


def sizes(read: Read) -> Iterator[int]:
    """Yield the number of bytes of each text that was read."""
    for memory in read.bundle.memories:
        for version in memory.versions:
            yield len(version.content.encode()) if version.content else 0
