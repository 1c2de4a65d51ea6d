"""Power cuts: what a hub writes is recorded, and at any moment of it the disk is made as a power cut could leave it.

`recorder.c`, loaded into every process of the hub, notes each change of a file in the data directory, and each sync.
A power cut is a position in these notes. What was synced before it is there; of the rest, each change is there, lost,
or torn into sectors of which each has the new bytes, the old ones or garbage, whatever was written later. Names change
in their order, as in the journals of file systems, and are there for sure once a directory was synced.

The model is harsher than a good disk, and SQLite promises to bear it. It does not have disks that lie about syncs, and
none that lose what was synced; `syncs=False` makes every sync such a lie, which shows that lost calls are seen.
What was written before a sync that failed never reaches the disk, as on Linux.
"""

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

WRITES, SIZES, SYNC_BEGINS, SYNC_ENDS, CREATES, UNLINKS, RENAMES, LINKS, MAKES_DIRECTORY, SYNC_FAILS = range(1, 11)
_HEAD = struct.Struct("<IIQQQ")
_MAGIC = 0x4355544F
_UNRECORDED = "-shm"
"""SQLite's index of its log is a memory map. After a power cut it can contain anything."""
GARBAGE = 0.1
"""The part of the sectors of a torn change that have garbage."""


def compiled(directory: Path) -> Path:
    """The recorder as a library; skips the test where no C compiler is."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    library = directory / "recorder.so"
    source = Path(__file__).with_name("recorder.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library: Path, directory: Path, log: Path) -> dict[str, str]:
    """Variables that let each process record what it changes in a directory."""
    return {"LD_PRELOAD": str(library), "RECORDED_DIRECTORY": str(directory), "RECORDED_IN": str(log)}


@dataclass(frozen=True, slots=True)
class Record:
    """One change or sync; `end` is the position in the log after it."""

    kind: int
    inode: int
    offset: int
    length: int
    data: bytes
    end: int


def records(log: Path) -> Iterator[Record]:
    """What was recorded, up to a record that a killed process could not finish."""
    end, size = 0, log.stat().st_size
    with log.open("rb") as stream:
        while end + _HEAD.size <= size:
            magic, kind, inode, offset, length = _HEAD.unpack(stream.read(_HEAD.size))
            has_data = kind not in (SIZES, SYNC_BEGINS, SYNC_ENDS, SYNC_FAILS)
            data = stream.read(length) if has_data else b""
            if magic != _MAGIC or (has_data and len(data) < length):
                return
            end = stream.tell()
            yield Record(kind, inode, offset, length, data, end)


Change = tuple[int, bytes | None]
"""Bytes from an offset, or a new size."""


class Content:
    """The bytes of a file. Zeros at its end are not kept: a reserve of disk space has millions of them."""

    __slots__ = ("data", "size")

    def __init__(self, data: bytes | bytearray, size: int | None = None) -> None:
        self.data = bytearray(data)
        self.size = len(data) if size is None else size

    def apply(self, change: Change) -> None:
        at, data = change
        if data is None:
            del self.data[at:]
            self.size = at
        else:
            self.data.extend(bytes(max(0, at - len(self.data))))
            self.data[at : at + len(data)] = data
            self.size = max(self.size, at + len(data))

    def put(self, path: Path) -> None:
        """Write the file."""
        path.write_bytes(self.data)
        os.truncate(path, self.size)
        path.chmod(0o600)


@dataclass(eq=False, slots=True)
class File:
    """A file as it is on the disk for sure, and the later changes; `applied` is how many there were before them."""

    durable: Content
    waiting: list[Change] = field(default_factory=list)
    applied: int = 0

    def sync(self, until: int) -> None:
        """All changes before this number are on the disk."""
        done = max(0, until - self.applied)
        for change in self.waiting[:done]:
            self.durable.apply(change)
        del self.waiting[:done]
        self.applied += done

    def lose(self) -> None:
        """A sync has failed: no later one brings to the disk what was written before it."""
        self.applied += len(self.waiting)
        self.waiting.clear()


class Start:
    """A directory as it is before the first record: all of it is on the disk. What is in `static` never changes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directories: list[str] = []
        self.files: dict[str, tuple[int, bytes]] = {}
        for parent, directories, files in os.walk(place):
            directories[:] = [name for name in directories if name != "static"]
            self.directories += [os.path.relpath(Path(parent, name), place) for name in directories]
            for path in (Path(parent, name) for name in files):
                self.files[os.path.relpath(path, place)] = (path.stat().st_ino, path.read_bytes())


class Disk:
    """The files of a recorded directory, from its start on; `run` takes its records in order."""

    def __init__(self, start: "Start", *, syncs: bool = True) -> None:
        self.place, self.syncs = start.place, syncs
        self.files: dict[int, File] = {}
        """Those that are there, by inode. The inode of a deleted file is soon that of another."""
        self.names: dict[str, File] = {}
        self.directories = list(start.directories)
        self.waiting_names: list[tuple[Record, File | None]] = []
        self.named = 0
        self._begun: dict[int, int] = {}
        for name, (inode, content) in start.files.items():
            self.names[name] = self.files[inode] = File(Content(content))

    def run(self, record: Record) -> None:
        """Add what was recorded next."""
        if record.kind in (WRITES, SIZES):
            file = self.files[record.inode]
            file.waiting.append((record.offset, record.data if record.kind == WRITES else None))
        elif record.kind == SYNC_BEGINS:
            file = self.files.get(record.inode)  # type: ignore[assignment]  # nothing for a directory
            reached = file.applied + len(file.waiting) if file else self.named + len(self.waiting_names)
            self._begun[record.offset] = reached
        elif record.kind == SYNC_ENDS and self.syncs:
            self._sync(record.inode, self._begun[record.offset])
        elif record.kind == SYNC_FAILS:
            if record.inode in self.files:
                self.files[record.inode].lose()
        elif record.kind != SYNC_ENDS:
            if record.kind == CREATES:
                self.files[record.inode] = File(Content(b""))
            self.waiting_names.append((record, self.files.get(record.inode)))

    def _sync(self, inode: int, reached: int) -> None:
        if inode in self.files:
            self.files[inode].sync(reached)
            return
        done = max(0, reached - self.named)
        for record, file in self.waiting_names[:done]:
            self._name(self.names, record, file)
        del self.waiting_names[:done]
        self.named += done

    def after_a_cut(self, directory: Path, chance: random.Random) -> None:
        """Make the directory as the disk could have it if the power were cut now."""
        kept = chance.choice([0.0, 0.5, 0.9, 1.0])
        self._put(directory, chance.randint(0, len(self.waiting_names)), lambda waiting: _left(waiting, kept, chance))
        for name in self.names:
            if name.endswith(_UNRECORDED):
                (directory / name).write_bytes(chance.randbytes(32_768))

    def with_everything(self, directory: Path) -> None:
        """Make the directory as the processes saw it."""
        self._put(directory, len(self.waiting_names), list)

    def _put(self, directory: Path, names: int, left: Callable[[list[Change]], Iterable[Change]]) -> None:
        there = dict(self.names)
        for record, created in self.waiting_names[:names]:
            self._name(there, record, created)
        for each in (".", *self.directories):
            (directory / each).mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
        contents: dict[File, Content] = {}
        for name, file in there.items():
            if file not in contents:
                contents[file] = content = Content(file.durable.data, file.durable.size)
                for change in left(file.waiting):
                    content.apply(change)
            contents[file].put(directory / name)

    def _name(self, names: dict[str, File], record: Record, created: File | None) -> None:
        paths = [os.path.relpath(path.decode(), self.place) for path in record.data.split(b"\0")]
        if record.kind == CREATES and created:
            names[paths[0]] = created
        elif record.kind == MAKES_DIRECTORY:
            self.directories.append(paths[0])
        elif record.kind == UNLINKS:
            names.pop(paths[0], None)
        elif record.kind == RENAMES:
            names[paths[1]] = names.pop(paths[0])
        else:
            names[paths[1]] = names[paths[0]]


def _left(waiting: Sequence[Change], kept: float, chance: random.Random) -> Iterator[Change]:
    """What a power cut leaves of changes that no sync has confirmed."""
    for at, data in waiting:
        fate = chance.random()
        if fate < kept:
            yield at, data
        elif data is not None and fate < kept + (1 - kept) / 2:
            yield from _torn(at, data, chance)


def _torn(at: int, data: bytes, chance: random.Random) -> Iterator[Change]:
    """The sectors of a change that reached the disk; in some there is garbage."""
    size = chance.choice([512, 4096])
    first = at - at % size
    for sector in range(first, at + len(data), size):
        begin, end = max(sector, at), min(sector + size, at + len(data))
        fate = chance.random()
        if fate < GARBAGE:
            yield begin, chance.randbytes(end - begin)
        elif fate < (1 + GARBAGE) / 2:
            yield begin, data[begin - at : end - at]
