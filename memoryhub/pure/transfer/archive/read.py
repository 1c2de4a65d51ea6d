"""Reads a ZIP archive strictly by its central directory. Every byte of the file is checked against this directory.

Whatever two programs could read differently is refused, such as entries that overlap, sizes that do not match, and
ZIP64.
"""

import stat
import struct
import zlib
from collections.abc import Container, Iterator
from typing import NamedTuple

from memoryhub.pure.transfer import reading
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds, Data, visible

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _CENTRAL_MARK, _LOCAL_MARK, _DESCRIPTOR_MARK = b"PK\5\6", b"PK\1\2", b"PK\3\4", b"PK\7\x08"
_ZIP64_LOCATOR = b"PK\6\7"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_FOLLOWED = 0x8
_ZIP64, _UNICODE_NAME, _AES, _STRONG = 0x0001, 0x7075, 0x9901, 0x0017
_REPARSE = 0x400
OWN_ENTRIES = 2
"""How many entries of an export do not count as memories: the manifest and the history."""


class Entry(NamedTuple):
    """One entry of the central directory. `name` is its name as it is in the archive, in bytes, and `place` the same
    name in NFC."""

    place: str
    name: bytes
    attributes: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    is_directory: bool


class Archive:
    """A ZIP archive in which each byte before the central directory belongs to one entry.

    Raises Refused if `data` is no such archive, or is too large.
    """

    def __init__(self, data: Data, bounds: Bounds) -> None:
        reading.require_size(data, bounds)
        self.data, self.bounds = data, bounds
        self.entries, end = _entries(data)
        self.starts = _starts(data, self.entries, end)

    @property
    def places(self) -> frozenset[str]:
        """The places of all entries; those of directories end with a slash."""
        return frozenset(entry.place for entry in self.entries)

    def files(self, passed: Container[str] = ()) -> Iterator[tuple[str, bytes]]:
        """Yield (place, content) of each entry that is not a directory, in order. Entries at the places `passed` are
        left out.

        Raises Refused, possibly after some entries.
        """
        entries = [entry for entry in self.entries if entry.place not in passed]
        _require_all(entries, self.bounds)
        total = 0
        for entry in entries:
            content = _unpacked(self.data, entry, self.starts[entry.offset], self.bounds.unpacked - total)
            total += len(content)
            if total > self.bounds.small and total > len(self.data) * self.bounds.ratio:
                raise Refused(_too_tight(self.bounds))
            if not entry.is_directory:
                yield entry.place, content


def _require_all(entries: list[Entry], bounds: Bounds) -> None:
    """Raise Refused if the entries are more or larger than `bounds` allow, or if a place is not allowed.

    Each entry must be a file or a directory. No place may occur twice, or be both a file and a directory of another
    entry.
    """
    if len(entries) > bounds.entries + OWN_ENTRIES:
        raise Refused(f"The archive has {len(entries):,} entries; at most {bounds.entries:,} are allowed.")
    for entry in entries:
        shown = entry.name.decode("utf-8")
        _require_kind(shown, entry)
        reading.require_place(shown.rstrip("/") if entry.is_directory and shown.strip("/") else shown)
    if (size := sum(entry.size for entry in entries)) > bounds.unpacked:
        raise Refused(f"The archive unpacks to {size:,} bytes; at most {bounds.unpacked:,} are allowed.")
    reading.require_apart(entry.place for entry in entries)


def _too_tight(bounds: Bounds) -> str:
    return f"The archive unpacks to more than {bounds.ratio} times its size."


# ------------------------------------------------------------------------------------------------ its directory


def _entries(data: Data) -> tuple[list[Entry], int]:
    """Return all entries, and the offset of the central directory. Raises Refused."""
    at = _end_of(data)
    _, disk, first_disk, here, count, size, offset, _ = _END.unpack_from(data, at)
    if data[max(0, at - 20) : at].startswith(_ZIP64_LOCATOR) or 0xFFFF in (here, count) or 0xFFFFFFFF in (size, offset):
        raise Refused("The archive uses ZIP64, which nothing of this size needs.")
    if disk or first_disk or here != count:
        raise Refused("The archive is one part of several.")
    if offset + size != at:
        raise Refused("The archive's directory is not where the archive says.")
    found, place = [], offset
    for _ in range(count):
        entry, place = _central(data, place, at)
        found.append(entry)
    if place != at:
        raise Refused("The archive's directory is longer than its entries.")
    return found, offset


def _end_of(data: Data) -> int:
    """Return the offset of the archive's end record. Raises Refused unless the file ends with this record and its
    comment."""
    at = data.rfind(_END_MARK, max(0, len(data) - _END.size - 0xFFFF))
    if at < 0:
        if data.find(_END_MARK) >= 0:
            raise Refused("The archive has data after its end.")
        raise Refused("It is not a ZIP archive, or its end is cut off.")
    if at + _END.size > len(data):
        raise Refused("The archive's end is cut off.")
    comment = _END.unpack_from(data, at)[-1]
    if at + _END.size + comment < len(data):
        raise Refused("The archive has data after its end.")
    if at + _END.size + comment > len(data):
        raise Refused("The archive's end is cut off.")
    return at


def _central(data: Data, place: int, end: int) -> tuple[Entry, int]:
    """Return the entry at an offset of the central directory, and the offset after it."""
    if place + _CENTRAL.size > end or data[place : place + 4] != _CENTRAL_MARK:
        raise Refused("The archive's directory is broken.")
    values = _CENTRAL.unpack_from(data, place)
    flags, method, crc, packed, size = values[3], values[4], values[7], values[8], values[9]
    name_length, extra_length, comment_length, disk = values[10:14]
    attributes, offset = values[15], values[16]
    start = place + _CENTRAL.size
    behind = start + name_length + extra_length + comment_length
    if behind > end:
        raise Refused("The archive's directory is broken.")
    name = data[start : start + name_length]
    extra = _extra(data[start + name_length : start + name_length + extra_length])
    shown = _name(name, extra)
    if 0xFFFFFFFF in (packed, size, offset) or _ZIP64 in extra:
        raise Refused("The archive uses ZIP64, which nothing of this size needs.")
    if disk:
        raise Refused("The archive is one part of several.")
    if flags & _ENCRYPTED or method == 99 or _AES in extra or _STRONG in extra:
        raise Refused(f"The entry {visible(shown)} is encrypted.")
    if method not in (_STORED, _DEFLATED):
        raise Refused(f"The entry {visible(shown)} uses an unsupported compression ({method}).")
    is_directory = shown.endswith("/")
    place_ = reading.composed(shown.rstrip("/") + "/" if is_directory else shown)
    return Entry(place_, name, attributes, flags, method, crc, packed, size, offset, is_directory), behind


def _require_kind(name: str, entry: Entry) -> None:
    """Raise Refused unless an entry is a regular file or a directory."""
    kind, is_directory = stat.S_IFMT(entry.attributes >> 16), entry.is_directory
    if is_directory and (entry.size or entry.packed > 2):
        raise Refused(f"The directory {visible(name)} has data.")
    if kind == stat.S_IFLNK or entry.attributes & _REPARSE:
        raise Refused(f"The entry {visible(name)} is a symbolic link.")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refused(f"The entry {visible(name)} is a device, a pipe or a socket.")
    if not is_directory and (kind == stat.S_IFDIR or entry.attributes & 0x10):
        raise Refused(f"The entry {visible(name)} says that it is a directory, but its name has no final slash.")


def _name(name: bytes, extra: dict[int, bytes]) -> str:
    try:
        shown = name.decode("utf-8")
        other = extra[_UNICODE_NAME][5:].decode("utf-8") if _UNICODE_NAME in extra else shown
    except UnicodeDecodeError:
        raise Refused(f"The name {visible(name.decode('utf-8', 'replace'))} is not UTF-8.") from None
    if other != shown:
        raise Refused(f"The entry {visible(shown)} has two names.")
    return shown


def _extra(data: bytes) -> dict[int, bytes]:
    """Return {kind: content} of an entry's extra fields.

    Bytes at the end that are no complete field are ignored: some programs write them as padding.
    """
    found, place = {}, 0
    while place + 4 <= len(data):
        kind, length = struct.unpack_from("<2H", data, place)
        found[kind] = data[place + 4 : place + 4 + length]
        place += 4 + length
    return found


# ------------------------------------------------------------------------------------------------ its entries


def _starts(data: Data, entries: list[Entry], end: int) -> dict[int, int]:
    """Return {offset of an entry: offset of its data}.

    Raises Refused unless every byte before the central directory belongs to one entry.
    """
    starts, place = {}, 0
    ordered = sorted(entries, key=lambda entry: entry.offset)
    for entry in ordered:
        if entry.offset < place:
            raise Refused(f"The entry {visible(entry.place)} overlaps another.")
        if entry.offset > place:
            raise Refused("The archive has data that belongs to no entry.")
        starts[entry.offset] = start = _local(data, entry, end)
        place = start + entry.packed
        if place > end:
            raise Refused(f"The entry {visible(entry.place)} overlaps the archive's directory, or is cut off.")
        if entry.flags & _FOLLOWED:
            place += _descriptor(data, place, entry)
    if place != end:
        raise Refused("The archive has data that belongs to no entry.")
    return starts


def _local(data: Data, entry: Entry, end: int) -> int:
    """Return the offset of an entry's data. Raises Refused unless its local header matches the central directory."""
    if entry.offset + _LOCAL.size > end or data[entry.offset : entry.offset + 4] != _LOCAL_MARK:
        raise Refused(f"The entry {visible(entry.place)} is not where the archive says.")
    values = _LOCAL.unpack_from(data, entry.offset)
    flags, method, crc, packed, size, name_length, extra_length = values[2], values[3], *values[6:]
    start = entry.offset + _LOCAL.size
    if data[start : start + name_length] != entry.name:
        raise Refused(f"The entry {visible(entry.place)} has two names.")
    if flags & _ENCRYPTED:
        raise Refused(f"The entry {visible(entry.place)} is encrypted.")
    if method != entry.method or (flags ^ entry.flags) & _FOLLOWED:
        raise Refused(f"The entry {visible(entry.place)} contradicts itself about its compression.")
    if not flags & _FOLLOWED and (crc, packed, size) != (entry.crc, entry.packed, entry.size):
        raise Refused(f"The entry {visible(entry.place)} contradicts itself about its size.")
    return start + int(name_length) + int(extra_length)


def _descriptor(data: Data, place: int, entry: Entry) -> int:
    """Return the length of the data descriptor after an entry. Raises Refused unless it repeats the values of the
    central directory."""
    mark = 4 if data[place : place + 4] == _DESCRIPTOR_MARK else 0
    for kind in ("<3L", "<LQQ"):
        length = struct.calcsize(kind)
        descriptor = data[place + mark : place + mark + length]
        if len(descriptor) == length and struct.unpack(kind, descriptor) == (entry.crc, entry.packed, entry.size):
            return mark + length
    raise Refused(f"The entry {visible(entry.place)} contradicts itself about its size.")


def _unpacked(data: Data, entry: Entry, start: int, most: int) -> bytes:
    """Return the unpacked bytes of an entry. They are counted while they are unpacked; more than `most` bytes are
    refused."""
    packed = data[start : start + entry.packed]
    if entry.method == _STORED:
        content = packed
    else:
        content = _inflated(packed, entry, most)
    if len(content) > most:
        raise Refused("The archive unpacks to too much.")
    if len(content) != entry.size:
        raise Refused(f"The entry {visible(entry.place)} is not as large as the archive says.")
    if zlib.crc32(content) != entry.crc:
        raise Refused(f"The entry {visible(entry.place)} is damaged: its checksum is wrong.")
    return content


def _inflated(packed: bytes, entry: Entry, most: int) -> bytes:
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpack.decompress(packed, min(entry.size, most) + 1)
    except zlib.error:
        raise Refused(f"The entry {visible(entry.place)} is damaged and cannot be unpacked.") from None
    if len(content) > most:
        raise Refused("The archive unpacks to too much.")
    if len(content) > entry.size:
        raise Refused(f"The entry {visible(entry.place)} is not as large as the archive says.")
    if not unpack.eof:
        raise Refused(f"The entry {visible(entry.place)} is cut off.")
    if unpack.unused_data:
        raise Refused(f"The entry {visible(entry.place)} has data after its end.")
    return content
