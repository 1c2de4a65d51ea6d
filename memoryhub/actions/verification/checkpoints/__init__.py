"""Writes the checkpoint files: the head of each audit chain at some moments, kept outside the database.

Only these files reveal that the end of the audit was removed, or that the database was replaced by an old copy. Lines
are appended to the live file. A full file becomes a numbered segment. The next live file begins with the newest
checkpoint of every chain. A crash after any step does no harm.
"""

import errno
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memoryhub.actions.core.audit.keys import key_name
from memoryhub.actions.verification.checkpoints import lines as checkpoint_lines
from memoryhub.actions.verification.checkpoints.lines import LONGEST, Checkpoint, Closing, Line, Opening
from memoryhub.models import AuditChain
from memoryhub.pure import chain

MOST_BYTES = 8 * 1024 * 1024
"""The size above which a live file is closed, unless its repeated first lines are more than a quarter of it."""
BLOCK = 64 * 1024

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Known:
    """The checkpoints that a process has written: `heads` has the last seq of each chain.

    `last` is the place of the last line that the process has written: (segment, number of the line). The next line
    gets the next number, even if the file has lost the last line.
    """

    heads: dict[str, int] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class _End:
    """The end of the live file: its segment, the number of its last line, its size in bytes, and whether it is closed.

    `is_old`: its last line is signed with an older audit key.
    """

    segment: int
    number: int = 0
    size: int = 0
    is_closed: bool = False
    is_old: bool = False


def append(path: Path, at: datetime, known: Known | None = None) -> int:
    """Append the heads that have moved since `known`, and update `known`. Return how many lines were written.

    A new file gets the heads of all chains.
    """
    known = known or Known()
    heads = list(AuditChain.objects.order_by("id"))
    moved = [head for head in heads if head.last_seq != known.heads.get(head.id, 0)]
    if not moved:
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        end = _ready(path, known)
        lines = moved if end.size else heads
        made = [Checkpoint(chain.moment(at), head.id, head.last_seq, head.last_hash, key_name()) for head in lines]
        _append(path, end, made)
    known.heads.update((head.id, head.last_seq) for head in lines)
    known.last = (end.segment, end.number)
    return len(lines)


def segment_of(path: Path, number: int) -> Path:
    """Return the path of the full segment with this number."""
    return path.with_name(f"{path.stem}-{number:06}{path.suffix}")


def segments(path: Path) -> dict[int, Path]:
    """Return {number: path} of the full segments beside a live file."""
    named = {file.stem.rpartition("-")[2]: file for file in path.parent.glob(f"{path.stem}-*{path.suffix}")}
    return {int(number): file for number, file in sorted(named.items()) if number.isdecimal()}


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock the checkpoint files against other processes.

    A reader (`shared`) that cannot open the lock's file reads without a lock.
    """
    try:
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        if not shared:
            raise
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------ the live file


def _ready(path: Path, known: Known) -> _End:
    """Complete a step that a crash interrupted. Return the end of the live file.

    If the live file is full or the audit key was rotated, first close this file and begin the next live file.
    """
    end = _end_of(path)
    if end.size and not end.is_closed and (end.is_old or _is_full(path, end)):
        _close(path, end)
    if end.is_closed:
        end = _begin_next(path, end.segment)
    if known.last[0] == end.segment:
        end.number = max(end.number, known.last[1])
    return end


def _end_of(path: Path) -> _End:
    size = _without_half_line(path)
    if not size:
        before = max(segments(path), default=0)
        return _begin_next(path, before) if before else _End(1)
    with path.open("rb") as stream:
        first = checkpoint_lines.parsed(stream.readline(LONGEST))
        stream.seek(max(0, size - LONGEST))
        last = checkpoint_lines.parsed(stream.read().splitlines(keepends=True)[-1])
        if last is not None and last.segment and last.number:
            is_old = last.what.key != key_name()
            return _End(last.segment, last.number, size, isinstance(last.what, Closing), is_old)
        stream.seek(0)
        count = sum(block.count(b"\n") for block in iter(lambda: stream.read(BLOCK), b""))
    return _End((first and first.segment) or 1, count, size)


def _without_half_line(path: Path) -> int:
    """Remove an incomplete last line, which a crash can leave; return the file's size afterwards."""
    try:
        with path.open("r+b") as stream:
            size = end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - BLOCK)
                stream.seek(start)
                if (found := stream.read(end - start).rfind(b"\n")) >= 0:
                    end = start + found + 1
                    break
                end = start
            if end < size:
                stream.truncate(end)
                os.fsync(stream.fileno())
            return end
    except FileNotFoundError:
        return 0


def _append(path: Path, end: _End, made: list[Checkpoint]) -> None:
    first = end.number + 1
    lines = [checkpoint_lines.written(one, end.segment, number) for number, one in enumerate(made, first)]
    _append_whole(path, b"".join(lines))
    end.number += len(lines)


def _append_whole(path: Path, text: bytes) -> None:
    """Append the whole text or nothing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # An incomplete line, for example after a full disk, would cause an alarm.
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, text) < len(text):
            os.ftruncate(descriptor, before)
            raise OSError(errno.ENOSPC, "the checkpoint file could not be written whole", str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not before:
        keep_names(path)


# ------------------------------------------------------------------------------------------------ the next segment


def _is_full(path: Path, end: _End) -> bool:
    if end.size <= MOST_BYTES:
        return False
    with path.open("rb") as stream:
        first = checkpoint_lines.parsed(stream.readline(LONGEST))
    repeated = first.what.heads if first is not None and isinstance(first.what, Opening) else 0
    return end.number > 4 * (repeated + 1)


def _close(path: Path, end: _End) -> None:
    """Write the closing line of the live file, unless a file with the name of its segment already exists."""
    if segment_of(path, end.segment).exists():
        logger.warning("%s is there, and %s is not closed: it goes on growing", segment_of(path, end.segment), path)
        return
    _append_whole(path, checkpoint_lines.written(Closing(sha256_of(path), key_name()), end.segment, end.number + 1))
    end.is_closed = True


def _begin_next(path: Path, number: int) -> _End:
    """Keep the closed live file as segment `number`, begin the next live file, and return its end.

    After a crash, this function can be called again.
    """
    full = segment_of(path, number)
    if path.exists() and path.stat().st_size:
        _keep_aside(path, full)
    heads = _newest(full)
    first = Opening(sha256_of(full), len(heads), key_name())
    lines = [checkpoint_lines.written(first, number + 1, 1)]
    lines += [checkpoint_lines.written(one, number + 1, line) for line, one in enumerate(heads, 2)]
    new = path.with_suffix(".new")
    _write(new, lines)
    new.replace(path)
    keep_names(path)
    return _End(number + 1, len(lines), path.stat().st_size)


def _keep_aside(path: Path, full: Path) -> None:
    """Give the closed live file at `path` the name `full` too, so that the file always has at least one of the two
    names."""
    # At every moment, the file has at least one of the two names.
    try:
        os.link(path, full)
    except FileExistsError:
        if sha256_of(full) != sha256_of(path):
            raise OSError(errno.EEXIST, "is there and is another file than the one to be kept", str(full)) from None
    except OSError:  # a file system without hard links
        copy = full.with_suffix(".copy")
        with path.open("rb") as stream:
            _write(copy, iter(lambda: stream.read(BLOCK), b""))
        copy.replace(full)
    keep_names(path)


def _newest(full: Path) -> list[Checkpoint]:
    """Return the newest checkpoint of each chain, in the order of the chains' ids."""
    most: dict[str, Checkpoint] = {}
    last: dict[str, Checkpoint] = {}
    for line in _lines(full):
        if isinstance(line.what, Checkpoint):
            name = line.what.chain
            last[name] = line.what
            if name not in most or line.what.seq > most[name].seq:
                most[name] = line.what
    # If another checkpoint of a chain has a higher seq, it is returned too, before the newest one.
    pairs = ((most[name], last[name]) for name in sorted(last))
    return [one for longest, newest in pairs for one in _different(longest, newest)]


def _different(one: Checkpoint, other: Checkpoint) -> list[Checkpoint]:
    return [other] if (one.seq, one.hash) == (other.seq, other.hash) else [one, other]


def _lines(path: Path) -> Iterator[Line]:
    with path.open("rb") as stream:
        for text in iter(lambda: stream.readline(LONGEST), b""):
            if (line := checkpoint_lines.parsed(text)) is not None:
                yield line


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write(path: Path, blocks: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(blocks)
        stream.flush()
        os.fsync(descriptor)


def keep_names(path: Path) -> None:
    """Make sure that the disk has the current names of all files in the directory of the file `path`."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
