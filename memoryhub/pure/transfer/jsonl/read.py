"""Reads the hub's own export in JSON Lines, line by line."""

import hashlib
import re
from collections.abc import Callable, Iterator

from memoryhub.pure import strict_json
from memoryhub.pure.transfer import histories, reading
from memoryhub.pure.transfer.bundle import (
    Bundle,
    BundledMemory,
    BundledProposal,
    BundledRule,
    BundledThread,
    BundledVersion,
    Refused,
)
from memoryhub.pure.transfer.jsonl import proposals as jsonl_proposals
from memoryhub.pure.transfer.jsonl.proposals import MOST_OPEN, proposal_of
from memoryhub.pure.transfer.jsonl.rules import rules_of
from memoryhub.pure.transfer.jsonl.said import MOST_COMMENTS, thread_of
from memoryhub.pure.transfer.jsonl.values import Line, author_of, moment_of, text, text_or_none
from memoryhub.pure.transfer.reading import Bounds, Data, Read, visible

FORMAT, VERSION = "memoryhub", 1
SHORT, MOST_SHORT = 256, 1_000_000
"""A line with fewer bytes than SHORT is short. An export with more short lines than MOST_SHORT takes long to read,
however small it is packed."""
LONGEST_LINE, MOST_VALUES, LONGEST_NOTE = 40 * 1024 * 1024, 200_000, 4_000
"""The most bytes of a line, the most texts and values in it (each takes more room in memory than in the file), and the
most characters of a note."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def read(data: Data, bounds: Bounds) -> Read:
    """Return the memories of an export. The audit in the export belongs to the other hub, and is not imported."""
    reading.require_size(data, bounds)
    lines = objects(data)
    header = header_of(next(lines, None), FORMAT)
    reader = _Reader(bool(header.get("history", True)), bounds)
    for line in lines:
        reader.take(line)
    memories, left = histories.checked(reader.all_memories(), bounds)
    if not reader.history:
        memories = tuple(histories.newest_alone(memory) for memory in memories)
    proposals, rules = tuple(reader.proposals), tuple(reader.rules or ())
    bundle = Bundle("jsonl", memories, reader.name, reader.description, proposals, rules)
    return reading.require_some(Read(bundle, left))


def objects(data: Data) -> Iterator[Line]:
    """Yield the JSON object of each line. Raises Refused."""
    if not len(data):
        raise Refused("There is nothing in it.")
    if data[-1:] != b"\n":
        raise Refused("It is cut off: its last line has no end.")
    short = 0
    for number, line in enumerate(_lines(data), 1):
        short += len(line) < SHORT
        if short > MOST_SHORT:
            raise Refused(f"It has more than {MOST_SHORT:,} lines of less than {SHORT} bytes.")
        require_bounds(line, f"Line {number}")
        try:
            value = strict_json.loads(line)
        except strict_json.Malformed as error:
            raise Refused(f"Line {number}: {str(error).replace('The body', 'It')}") from None
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            raise Refused(f"Line {number} is not an object with a type.")
        yield value


def _lines(data: Data) -> Iterator[bytes]:
    """Yield one line at a time. A list of all lines would need as much memory again as the data."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1


def require_bounds(line: bytes, named: str) -> None:
    """Raise Refused if a line has more than LONGEST_LINE bytes or MOST_VALUES values.

    `named` is what the error calls the line.
    """
    if len(line) > LONGEST_LINE:
        raise Refused(f"{named} has more than {LONGEST_LINE:,} bytes.")
    if _has_too_many(line):
        raise Refused(f"{named} has more than {MOST_VALUES:,} values.")


def _has_too_many(line: bytes) -> bool:
    """Return whether a line has more than MOST_VALUES texts or other values."""
    if len(line) < 2 * MOST_VALUES:
        return False
    rest, strings = _STRING.subn(b"", line, MOST_VALUES)
    return strings == MOST_VALUES or sum(map(rest.count, (b",", b"[", b"{"))) > MOST_VALUES


def header_of(line: Line | None, format: str) -> Line:
    """Return the first line. Raises Refused unless it is the header of `format`, in a version of the format that can be
    read."""
    if line is None or line["type"] != "header" or not isinstance(line.get("format"), str):
        raise Refused("It does not begin with the header of an export.")
    if line["format"] != format:
        raise Refused(f"It is of the format {visible(line['format'])}, not {format}.")
    if line.get("version") != VERSION or isinstance(line.get("version"), bool):
        raise Refused(f"It is of version {visible(repr(line.get('version')))} of the format; only {VERSION} is read.")
    return line


class _Reader:
    """Collects the memories of an export from its lines, in order."""

    def __init__(self, history: bool, bounds: Bounds) -> None:
        self.history, self.bounds = history, bounds
        self.name = self.description = ""
        self.memories: list[BundledMemory] = []
        self.memory: Line | None = None
        self.versions: list[BundledVersion] = []
        self.threads: list[BundledThread] = []
        self.proposals: list[BundledProposal] = []
        self.rules: tuple[BundledRule, ...] | None = None
        self.count = self.comments = 0
        self.ended = False

    def take(self, line: Line) -> None:
        if self.ended:
            raise Refused("It continues after its end.")
        take: Callable[[Line], None] | None = {
            "store": self._store,
            "memory": self._memory,
            "version": self._version,
            "thread": self._thread,
            jsonl_proposals.OPEN: self._proposal,
            jsonl_proposals.DECIDED: self._proposal,
            "path_rules": self._rules,
            "end": self._end,
        }.get(line["type"])
        if take is not None:
            take(line)
        elif line["type"] == "header":
            raise Refused("It has a second header.")

    def all_memories(self) -> list[BundledMemory]:
        if not self.ended:
            raise Refused("It is cut off: its end is missing.")
        return self.memories

    def _store(self, line: Line) -> None:
        self.name, self.description = text(line, "name"), text(line, "description")

    def _memory(self, line: Line) -> None:
        self._close()
        if not isinstance(line.get("deleted", False), bool):
            raise Refused("A memory's deleted is neither true nor false.")
        text(line, "id"), text(line, "path")
        self.memory = line

    def _version(self, line: Line) -> None:
        if self.memory is None or line.get("memory") != self.memory["id"]:
            raise Refused("A version does not follow its memory.")
        self.versions.append(version_of(line))
        self.count += 1
        if self.count > self.bounds.versions:
            raise Refused(f"It has more than {self.bounds.versions:,} versions.")

    def _thread(self, line: Line) -> None:
        if self.memory is None or not self.versions or line.get("memory") != self.memory["id"]:
            raise Refused("A conversation does not follow its memory.")
        thread = thread_of(line)
        if thread.number > self.versions[-1].number:
            raise Refused("A conversation is about a version that does not exist.")
        self.threads.append(thread)
        if sum(len(one.comments) for one in self.threads) > MOST_COMMENTS:
            raise Refused(f"A memory has more than {MOST_COMMENTS:,} comments.")
        self._count_comments(len(thread.comments))

    def _count_comments(self, count: int) -> None:
        self.comments += count
        if self.comments > self.bounds.versions:
            raise Refused(f"It has more than {self.bounds.versions:,} comments.")

    def _proposal(self, line: Line) -> None:
        self.proposals.append(proposal_of(line))
        if sum(one.decision is None for one in self.proposals) > MOST_OPEN:
            raise Refused(f"It has more than {MOST_OPEN:,} open proposals.")
        if len(self.proposals) > self.bounds.entries:
            raise Refused(f"It has more than {self.bounds.entries:,} proposals.")
        self._count_comments(sum(len(one.comments) for one in self.proposals[-1].talks))

    def _rules(self, line: Line) -> None:
        if self.rules is not None:
            raise Refused("It has two lists of path rules.")
        self.rules = rules_of(line)

    def _close(self) -> None:
        """Finish the current memory."""
        if self.memory is None:
            return
        memory = BundledMemory(self.memory["id"], self.memory["path"], tuple(self.versions), tuple(self.threads))
        if not self.versions:
            raise Refused(f"The memory {visible(memory.path)} has no version.")
        if self.memory.get("deleted", False) == histories.is_live(memory):
            raise Refused(f"The memory {visible(memory.path)} contradicts itself about its deletion.")
        self.memories.append(memory)
        self.memory, self.versions, self.threads = None, [], []

    def _end(self, line: Line) -> None:
        self._close()
        if (line.get("memories"), line.get("versions")) != (len(self.memories), self.count):
            raise Refused("It is incomplete: its end counts another number of memories or versions.")
        self.ended = True


def version_of(line: Line) -> BundledVersion:
    """Return the version that a line describes. Raises Refused."""
    number, redacted = line.get("number"), line.get("redacted", False)
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(redacted, bool):
        raise Refused("A version's `number` or `redacted` has the wrong type.")
    content = line.get("content")
    if content is not None:
        content = text(line, "content")
        _require_sum(content, line.get("sha256"))
    path = text(line, "path") if line.get("path") is not None else ""
    note = text_or_none(line, "note")
    if len(note or "") > LONGEST_NOTE:
        raise Refused("The note of a deletion is too long.")
    return BundledVersion(
        text(line, "id"),
        number,
        text(line, "operation"),
        path,
        content,
        moment_of(text(line, "created_at")),
        author_of(line.get("author")),
        redacted,
        note,
    )


def _require_sum(content: str, sha256: object) -> None:
    if sha256 is None:
        return
    if sha256 != hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest():
        raise Refused("A version's text does not match its sha256.")
