"""Reads a `git fast-import` stream: a hub's own export with all its facts, or a linear history of any other
repository."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from memoryhub.pure import strict_json
from memoryhub.pure.transfer import histories, reading, tree_read
from memoryhub.pure.transfer.bundle import Bundle, BundledMemory, BundledVersion, Refused
from memoryhub.pure.transfer.git import commits as git_commits
from memoryhub.pure.transfer.git.commits import NOTHING, Commit, Content
from memoryhub.pure.transfer.git.places import Places, above_of
from memoryhub.pure.transfer.git.stream_lines import Lines, unquoted
from memoryhub.pure.transfer.jsonl import read as jsonl_read, values
from memoryhub.pure.transfer.reading import Bounds, Data, Left, Read, visible
from memoryhub.pure.transfer.tree_read import DEFAULT, Exclude

FORMAT = "memoryhub-git"
_MODES = {b"100644", b"644", b"100755", b"755"}
_WRONG_MODES = {b"120000": "a symbolic link", b"160000": "another repository", b"040000": "a directory"}


@dataclass(slots=True)
class _FoundMemory:
    """What is known of a memory so far: its versions, and the reason why it cannot be imported (None: it can).

    `path` is in NFC, as paths are stored; the stream has the name as git has it.
    """

    id: str | None
    path: str
    versions: list[BundledVersion] = field(default_factory=list)
    why: str | None = None


def read(data: Data, bounds: Bounds, only_memory_files: bool = False, exclude: Exclude = DEFAULT) -> Read:
    """Return the memories of a stream with their versions; raises Refused.

    From a stream that a hub wrote, all memories are taken. From any other stream, files are chosen by their newest
    paths.
    """
    reading.require_size(data, bounds)
    stream = _Stream(data, bounds, exclude)
    stream.run()
    all_told = stream.told if stream.ours else _chosen(stream.told, only_memory_files, exclude)
    readable = [BundledMemory(one.id, one.path, tuple(one.versions)) for one in all_told if one.why is None]
    memories, left = histories.checked(readable, bounds)
    if stream.ours and not stream.history:
        memories = tuple(histories.newest_alone(memory) for memory in memories)
    broken = tuple(Left(one.path, one.why) for one in all_told if one.why is not None)
    return reading.require_some(Read(Bundle("git", memories, stream.name, stream.description), (*broken, *left)))


def _chosen(told: list[_FoundMemory], only_memory_files: bool, exclude: Exclude) -> list[_FoundMemory]:
    """Return the memories in `told` that are to be imported, chosen by their paths. Call it for a stream that no hub
    wrote.

    A marker of the SDK gets a reason why it cannot be imported.
    """
    kept = [one for one in told if not exclude.has(one.path[1:])]
    taken = frozenset(tree_read.chosen({one.path[1:] for one in kept}, only_memory_files))
    for one in kept:
        if reading.is_marker(one.path):
            one.why = reading.MARKED
    return [one for one in kept if one.path[1:] in taken]


class _Stream:
    """A reader of one stream. `ours` becomes true when a comment says that a hub wrote the stream."""

    def __init__(self, data: Data, bounds: Bounds, exclude: Exclude) -> None:
        self.lines, self.bounds, self.exclude = Lines(data), bounds, exclude
        self.blobs: dict[bytes, Content] = {}
        self.marks: set[bytes] = set()
        self.last_mark: bytes | None = None
        self.commits = self.size = self.versions = 0
        self.branch: bytes | None = None
        self.needs_done = self.ours = False
        self.history = True
        self.name = self.description = ""
        self.told: list[_FoundMemory] = []
        self.by_id: dict[str, _FoundMemory] = {}
        self.there: Places[tuple[_FoundMemory, Content]] = Places()

    def run(self) -> None:
        """Read the whole stream; raises Refused."""
        verbs: dict[bytes, Callable[[bytes], None]] = {
            b"blob": self._blob,
            b"commit": self._commit,
            b"reset": self._reset,
            b"feature": self._feature,
            b"tag": self._tag,
            b"option": self._pass,
            b"progress": self._pass,
            b"checkpoint": self._pass,
        }
        if re.search(rb"\S", self.lines.data) is None:
            raise Refused("There is nothing in it.")
        while (line := self.lines.next()) is not None:
            word, _, rest = line.partition(b" ")
            if not line:
                continue
            if line.startswith(b"#"):
                self._comment(line)
            elif line == b"done":
                if self.lines.rest().strip():
                    raise Refused("The stream continues after its end.")
                return
            elif word in verbs:
                verbs[word](rest)
            else:
                raise Refused(f"The stream has an unsupported command: {visible(line.decode('utf-8', 'replace'))}.")
        if self.needs_done or self.ours:
            raise Refused("The stream is cut off: its end is missing.")

    # -------------------------------------------------------------------------------------------- its commands

    def _pass(self, rest: bytes) -> None:
        """Do nothing: this command of the stream is about no memory."""

    def _comment(self, line: bytes) -> None:
        if not line.startswith(b"# memoryhub "):
            return
        jsonl_read.require_bounds(line, "The stream's description of itself")
        try:
            line_json = strict_json.loads(line.removeprefix(b"# memoryhub "))
        except strict_json.Malformed:
            raise Refused("The stream's description of itself is not JSON.") from None
        if not isinstance(line_json, dict) or not isinstance(line_json.get("type"), str):
            raise Refused("The stream's description of itself is not an object.")
        if line_json["type"] == "header":
            jsonl_read.header_of(line_json, FORMAT)
            self.ours, self.history = True, bool(line_json.get("history", True))
        elif line_json["type"] == "store":
            self.name, self.description = (values.text(line_json, name) for name in ("name", "description"))

    def _feature(self, rest: bytes) -> None:
        if rest == b"done":
            self.needs_done = True
        elif rest.split(b"=")[0] not in (b"date-format", b"force", b"notes") or rest.startswith(b"date-format=r"):
            raise Refused(f"The stream needs an unsupported feature: {visible(rest.decode('utf-8', 'replace'))}.")

    def _reset(self, rest: bytes) -> None:
        if (start := self.lines.optional(b"from ")) is not None and start != self.last_mark:
            raise Refused("The stream's history is not linear.")

    def _tag(self, rest: bytes) -> None:
        for word in (b"mark ", b"from ", b"original-oid ", b"tagger "):
            self.lines.optional(word)
        self.lines.blob()

    def _blob(self, rest: bytes) -> None:
        mark = self.lines.optional(b"mark ")
        self.lines.optional(b"original-oid ")
        content = git_commits.content_of(self.lines.blob())
        if mark is None or mark in self.marks:
            raise Refused("A blob of the stream has no mark, or the mark of another one.")
        self.marks.add(mark)
        self.blobs[mark] = content
        if len(self.blobs) > self.bounds.versions:
            raise Refused(f"The stream has more than {self.bounds.versions:,} texts.")

    def _commit(self, branch: bytes) -> None:
        self.commits += 1
        if self.commits > self.bounds.versions:
            raise Refused(f"The stream has more than {self.bounds.versions:,} commits.")
        commit, mark = self._head()
        if mark is not None and mark in self.marks:
            raise Refused("A commit of the stream has the mark of another one.")
        start = self.lines.optional(b"from ")
        if (start is not None and start != self.last_mark) or (
            start is None and self.branch is not None and self.branch != branch
        ):
            raise Refused("The stream's history is not linear.")
        if self.lines.optional(b"merge ") is not None:
            raise Refused("The stream has a merge; only a linear history is supported.")
        self.branch, self.last_mark = branch, mark
        self.marks |= {mark} if mark else set()
        trailers = git_commits.trailers(commit.message) if self.ours else {}
        if self.ours and "Version" not in trailers:
            raise Refused("A commit of the stream does not name its version.")
        self._changes(commit, tells=not self.ours)
        if self.ours:
            self._add_described(commit, trailers)

    def _head(self) -> tuple[Commit, bytes | None]:
        mark = self.lines.optional(b"mark ")
        self.lines.optional(b"original-oid ")
        author = self.lines.optional(b"author", whole=True)
        committer = self.lines.optional(b"committer", whole=True)
        if committer is None:
            raise Refused("A commit of the stream has no committer.")
        if (encoding := self.lines.optional(b"encoding ")) is not None and encoding.lower() not in (b"utf-8", b"utf8"):
            raise Refused("The message of a commit in the stream is not UTF-8.")
        who, at = git_commits.person(author or committer)
        return Commit(who, at, self.lines.blob().decode("utf-8", "replace")), mark

    # -------------------------------------------------------------------------------------------- what a commit changes

    def _changes(self, commit: Commit, *, tells: bool) -> None:
        """Read all changes of a commit.

        In the hub's own stream (`tells` is false), only written texts are used: the trailers contain all other facts.
        In another stream, a `deleteall` removes every text that the commit does not write again. The texts are removed
        as soon as a removal, move or copy follows in the commit. If none follows, they are removed at the commit's end.
        """
        named: set[str] | None = None
        while (line := self.lines.peek()) is not None:
            word = line[:2]
            if word not in (b"M ", b"D ", b"R ", b"C ") and line != b"deleteall":
                if word == b"N ":
                    raise Refused("The stream has git's notes, which are not supported.")
                break
            self.lines.next()
            if word == b"M ":
                place = self._modify(line[2:], commit, tells)
                if named is not None:
                    named.add(place)
            elif line == b"deleteall":
                named = set() if tells else None
            elif tells:
                self._remove_others(named, commit)
                named = None
                if word == b"D ":
                    self._remove(self.there.require(unquoted(line[2:])[0]), commit)
                else:
                    self._move(line[2:], commit, copies=word == b"C ")
        self._remove_others(named, commit)
        if self.lines.peek() == b"":
            self.lines.next()

    def _modify(self, rest: bytes, commit: Commit, tells: bool) -> str:
        """Read a text that a commit writes. Return the place of the text."""
        mode, _, rest = rest.partition(b" ")
        reference, _, name = rest.partition(b" ")
        place = unquoted(name)[0]
        if tells:  # in the hub's own streams the path is in a trailer, and the place in the tree is escaped
            place = self.there.require(place)
        passed = mode in _WRONG_MODES and tells and self.exclude.has(reading.composed(place))
        if mode in _WRONG_MODES and not passed:
            raise Refused(f"The place {visible(place)} of the stream is {_WRONG_MODES[mode]}.")
        if mode not in _MODES and not passed:
            raise Refused(f"The place {visible(place)} of the stream has an unsupported mode.")
        if reference == b"inline":
            content = git_commits.content_of(self.lines.blob())
        elif reference in self.blobs:
            content = self.blobs[reference]
        elif passed:
            content = NOTHING
        else:
            raise Refused(f"The place {visible(place)} has a text that is not in the stream.")
        if passed:
            self._remove(place, commit)
            return place
        commit.changed[place] = content
        self._count(content.size)
        if tells:
            self._write(place, content, commit)
        return place

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > self.bounds.unpacked:
            raise Refused(f"Its texts have more than {self.bounds.unpacked:,} bytes.")

    def _write(self, place: str, content: Content, commit: Commit) -> None:
        """Write a text at a place.

        A place cannot have both a text and a directory. So all texts under `place` are removed, and any text at the
        place of a directory above `place`.
        """
        for above in above_of(place):
            if above in self.there:
                self._remove(above, commit)
        if place not in self.there and self.there.is_directory(place):
            self._remove(place, commit)
        if place in self.there:
            told, _ = self.there[place]
            operation = "modified"
        else:
            told, operation = _FoundMemory(None, "/" + reading.composed(place)), "created"
            self._new(told)
        if content.text is None:
            told.why = told.why or content.why
        elif operation == "created" or self.there[place][1].text != content.text:
            self._version(told, operation, content.text, commit)
        self.there.put(place, (told, content))

    def _new(self, told: _FoundMemory) -> None:
        self.told.append(told)
        if len(self.told) > self.bounds.entries:
            raise Refused(f"It has more than {self.bounds.entries:,} memories.")

    def _version(self, told: _FoundMemory, operation: str, content: str | None, commit: Commit) -> None:
        self.versions += 1
        if self.versions > self.bounds.versions:
            raise Refused(f"It has more than {self.bounds.versions:,} versions.")
        number = len(told.versions) + 1
        told.versions.append(BundledVersion(None, number, operation, told.path, content, commit.at, commit.author))

    def _remove(self, place: str, commit: Commit) -> None:
        for one in self.there.under(place):
            told, _ = self.there.take(one)
            if told.versions:
                self._version(told, "deleted", None, commit)

    def _remove_others(self, named: set[str] | None, commit: Commit) -> None:
        """Remove all texts that are not at the places `named`. The commit wrote at these places after its `deleteall`.

        If `named` is None, nothing is removed: there was no `deleteall`, or its texts are already removed.
        """
        for place in [place for place in self.there if place not in named] if named is not None else ():
            self._remove(place, commit)

    def _move(self, rest: bytes, commit: Commit, *, copies: bool) -> None:
        old, behind = unquoted(rest, ends=b" ")
        new, _ = unquoted(behind)
        old, new = self.there.require(old), self.there.require(new)
        for one in self.there.under(old):
            place = self.there.require(new + one[len(old) :], moved=True)
            self._count(self.there[one][1].size)
            if copies:
                self._write(place, self.there[one][1], commit)
                continue
            told, content = self.there.take(one)
            self._remove(place, commit)
            self.there.put(place, (told, content))
            told.path = "/" + reading.composed(place)
            self._version(told, "modified", content.text, commit)

    # -------------------------------------------------------------------------------------------- our own commits

    def _add_described(self, commit: Commit, trailers: dict[str, str]) -> None:
        """Add the version that a commit of the hub's own stream describes in the trailers of its message."""
        try:
            memory, number = trailers["Memory"], int(trailers["Number"][:12])
            path = strict_json.loads(trailers["Path"].encode())
            label = strict_json.loads(trailers["Label"].encode()) if "Label" in trailers else None
            operation, at = trailers["Operation"], values.moment_of(trailers["At"])
        except (KeyError, ValueError):
            raise Refused("A commit of the stream lacks facts about its version.") from None
        redacted = trailers.get("Redacted") == "yes"
        content = None if redacted or operation == "deleted" else git_commits.only_text(commit)
        author = None
        if "Actor" in trailers or "Label" in trailers:
            type, _, id = trailers.get("Actor", "").partition(" ")
            author = values.author_of({"type": type, "id": id, "label": label if isinstance(label, str) else ""})
        told = self.by_id.get(memory)
        if told is None:
            told = self.by_id[memory] = _FoundMemory(memory, "")
            self._new(told)
        if path is not None and not isinstance(path, str):
            raise Refused("A commit of the stream lacks facts about its version.")
        told.path = path or told.path
        told.versions.append(
            BundledVersion(trailers["Version"], number, operation, path or "", content, at, author, redacted)
        )


def is_one(data: Data) -> bool:
    """Return whether bytes look like a fast-import stream."""
    return bool(
        re.match(
            rb"# memoryhub |(?:#[^\n]*\n|\n)*+(?:blob|commit |reset |feature |tag |option |progress |done|checkpoint)",
            data,
        )
    )
