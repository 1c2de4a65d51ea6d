"""Reads the checkpoint files: every segment once, in bounded memory, from the oldest line to the newest.

A changed, moved or removed line is a problem of the files. The oldest segments may be kept elsewhere, which is no
problem.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from memoryhub.actions.core.audit import keys
from memoryhub.actions.verification import checkpoints
from memoryhub.actions.verification.checkpoints import lines
from memoryhub.actions.verification.checkpoints.lines import LONGEST, Checkpoint, Closing, Line, Opening


class Placed(NamedTuple):
    """A checkpoint, the name of its file, and the number of its line in this file."""

    file: str
    line: int
    checkpoint: Checkpoint


@dataclass(slots=True)
class _File:
    """The progress of reading one file. `before` is the SHA-256 of the previous segment; None if it was not read.

    `key` is the newest audit key that signed a line so far, as a position in the list of all keys from old to new. No
    later line may be signed with an older key. `lost` has the names of needed keys that the hub does not have.
    """

    segment: int
    before: str | None
    key: int = 0
    lost: set[str] = field(default_factory=set)
    number: int = 0
    place: int = 0
    is_numbered: bool = False
    is_closed: bool = False
    whole: Any = field(default_factory=hashlib.sha256)
    problem: str = ""

    def take(self, text: bytes) -> Line | None:
        """Check the next line, and return it; None if it cannot be read. `problem` keeps the file's first fault."""
        self.place += 1
        line = lines.parsed(text)
        if line is None and (name := lines.lost_key(text)):
            self.lost.add(name)
            fault = ""
        else:
            fault = self._fault(line, text)
        if fault and not self.problem:
            self.problem = fault
        self.number = line.number if line and line.number else self.number + 1
        self.is_numbered |= line is not None and line.number is not None
        self.is_closed = line is not None and isinstance(line.what, Closing)
        self.whole.update(text)
        return line

    def _fault(self, line: Line | None, text: bytes) -> str:
        changed = f"line {self.place} was changed"
        if line is None:
            return changed if text.endswith(b"\n") or len(text) == LONGEST else f"line {self.place} is not whole"
        key = keys.names().index(line.what.key)
        if key < self.key:
            return f"line {self.place} is signed with an older audit key than the line before it"
        self.key = key
        if line.number is None:
            return changed if self.segment > 1 or self.is_numbered else ""
        if self.is_closed or line.segment != self.segment or line.number <= self.number:
            return changed
        if line.number > self.number + 1:
            return f"lines {self.number + 1} to {line.number - 1} are missing"
        return self._fault_of(line.what, line.number, changed)

    def _fault_of(self, what: Checkpoint | Opening | Closing, number: int, changed: str) -> str:
        if isinstance(what, Opening) != (self.segment > 1 and number == 1):
            return changed
        if isinstance(what, Opening) and self.before not in (None, what.previous):
            return "does not go on from the segment before it, which is another file"
        if isinstance(what, Closing) and what.sha256 != self.whole.hexdigest():
            return "was changed: it is not the file that its last line closes"
        return ""


class Files:
    """The checkpoint files: the live file at `path`, and the segments beside it and in the directory `archive`.

    Iterate over this object to read the files. Afterwards, `problems` has the first fault of each file. `absent`
    has the numbers of the oldest segments, if they are in neither directory. `lost` has the names of needed audit keys
    that the hub does not have.
    """

    def __init__(self, path: Path, archive: Path | None = None) -> None:
        self.path, self.archive = path, archive
        self.problems: list[str] = []
        self.absent: list[int] = []
        self.lost: set[str] = set()
        self._key = 0
        self._last: _File | None = None

    def __iter__(self) -> Iterator[Placed]:
        opened = self._live()  # before the segments: if it is closed in the meantime, it is still this file
        there = self._there()
        if opened is None:
            yield from self._segments(max(there, default=0) + 1, there)
            if there:
                self.problems.append(f"{self.path} is missing")
            return
        live, size = opened
        if not size and there:
            self.problems.append(f"{self.path} is empty")
        with closing(live):
            number = _segment_in(live) or max(there, default=0) + 1
            yield from self._segments(number, there)
            yield from self._read(live, size, self.path, number)
        self._look_for_later(number, there)

    def _live(self) -> tuple[BufferedReader, int] | None:
        """Return the live file and its current size; None if the file is missing."""
        try:
            with checkpoints.locked(self.path, shared=True):
                stream = self.path.open("rb")
                # Lines after this size may be incomplete.
                return stream, os.fstat(stream.fileno()).st_size
        except FileNotFoundError:
            return None

    def _there(self) -> dict[int, Path]:
        archived = checkpoints.segments(self.archive / self.path.name) if self.archive else {}
        return archived | checkpoints.segments(self.path)

    def _segments(self, end: int, there: dict[int, Path]) -> Iterator[Placed]:
        """Yield the checkpoints in the segments with numbers below `end`.

        A gap between two existing segments is a problem.
        """
        oldest = min(there, default=end)
        for number in range(1, end):
            if number in there:
                with there[number].open("rb") as stream:
                    yield from self._read(stream, os.fstat(stream.fileno()).st_size, there[number], number)
                if self._last and not self._last.is_closed and not self._last.problem:
                    self.problems.append(f"{there[number]} is cut off: its closing line is missing")
                continue
            self._last = None
            if number < oldest:
                self.absent.append(number)
            else:
                self.problems.append(f"{checkpoints.segment_of(self.path, number)} is missing")

    def _read(self, stream: BufferedReader, left: int, path: Path, number: int) -> Iterator[Placed]:
        before = self._last.whole.hexdigest() if self._last else None
        self._last = file = _File(number, before, self._key, self.lost)
        while text := stream.readline(min(LONGEST, left)):
            left -= len(text)
            line = file.take(text)
            if line is not None and isinstance(line.what, Checkpoint):
                yield Placed(path.name, file.place, line.what)
        self._key = file.key
        if file.problem:
            self.problems.append(f"{path} {file.problem}")

    def _look_for_later(self, number: int, there: dict[int, Path]) -> None:
        """Report each segment that should not exist beside the live file, which is segment `number`.

        A segment with a higher number should not exist, nor one with this number and another content. A segment with
        this number and the same content is right: the live file has just been closed.
        """
        for later in sorted(one for one in there if one >= number):
            last = self._last
            is_same = later == number and last is not None and last.is_closed
            if not (is_same and last is not None and checkpoints.sha256_of(there[later]) == last.whole.hexdigest()):
                self.problems.append(f"{there[later]} is there, and {self.path} is older than it")


def _segment_in(stream: BufferedReader) -> int | None:
    """Return the number of a file's segment, from its first line. Return None if the line cannot be read."""
    first = lines.parsed(stream.readline(LONGEST))
    stream.seek(0)
    return None if first is None else first.segment or 1
