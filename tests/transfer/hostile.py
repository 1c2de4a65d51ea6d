"""Archives and streams that want something else than to be read: each with words of the sentence that refuses it."""

import hashlib
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

MARK = "SEVEN-SECRET-WORDS"


class Hostile(NamedTuple):
    """What is brought, under which name, and what its refusal says."""

    name: str
    data: bytes
    says: str
    file: str = "brought.zip"


def archive(*entries: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An honest archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as written:
        for name, content in entries:
            written.writestr(zipfile.ZipInfo(name), content, how)
    return made.getvalue()


def _with(change: Callable[[zipfile.ZipInfo], None], name: str = "a.md", content: bytes = MARK.encode()) -> bytes:
    """An archive of one entry of which something else is said."""
    made, info = io.BytesIO(), zipfile.ZipInfo(name)
    change(info)
    with zipfile.ZipFile(made, "w") as written:
        written.writestr(info, content)
    return made.getvalue()


def _mode(mode: int) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        info.create_system, info.external_attr = 3, mode << 16

    return change


def _patched(data: bytes, mark: bytes, offset: int, value: bytes, *, last: bool = False) -> bytes:
    """With other bytes at a place behind a record's mark."""
    at = (data.rfind if last else data.find)(mark) + offset
    return data[:at] + value + data[at + len(value) :]


def _renamed(data: bytes, old: bytes, new: bytes) -> bytes:
    """With another name of the same length, wherever it stands."""
    assert len(old) == len(new)
    return data.replace(old, new)


LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
GOOD = archive(("a.md", MARK.encode()))


def _moved_directory(data: bytes, by: int, count: int = 0) -> bytes:
    """With the end record saying another place (and other counts)."""
    at = data.rfind(END)
    offset = struct.unpack_from("<L", data, at + 16)[0] + by
    return data[: at + 16] + struct.pack("<L", offset) + data[at + 20 :]


def _overlapping() -> bytes:
    """Two entries of the directory, one of the data: what a small bomb is made of."""
    data = archive(("a.md", b"x" * 50))
    at, end = data.find(CENTRAL), data.rfind(END)
    entry = data[at:end]
    other = entry.replace(b"a.md", b"b.md")
    body = data[:at] + entry + other
    return body + struct.pack("<4s4H2LH", END, 0, 0, 2, 2, len(entry) * 2, at, 0)


def _quine_like() -> bytes:
    """An entry that lies within another one's data."""
    inner = archive(("b.md", b"inner"), how=zipfile.ZIP_STORED)
    local = inner[: inner.find(CENTRAL)]
    outer = archive(("a.md", local), how=zipfile.ZIP_STORED)
    at, end = outer.find(CENTRAL, len(local)), outer.rfind(END)
    at = outer.rfind(CENTRAL)
    entry = outer[at:end]
    inner_entry = inner[inner.find(CENTRAL) : inner.rfind(END)]
    inner_entry = inner_entry[:42] + struct.pack("<L", 34) + inner_entry[46:]
    both = entry + inner_entry
    return outer[:at] + both + struct.pack("<4s4H2LH", END, 0, 0, 2, 2, len(both), at, 0)


def _extra(kind: int, value: bytes) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        info.extra = struct.pack("<2H", kind, len(value)) + value

    return change


def _zip64_end(data: bytes) -> bytes:
    at = data.rfind(END)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, at, 1)
    return data[:at] + locator + data[at:]


def _followed(data: bytes) -> bytes:
    """An archive that was written without going back, with a descriptor that says another sum."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.bytes = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.bytes += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as written:
        written.writestr("a.md", data)
    return _patched(pipe.bytes, b"PK\7\x08", 4, b"\0\0\0\0")


def archives() -> Iterator[Hostile]:
    """Hostile ZIPs."""
    yield from _places(MARK.encode())
    yield from _entries(MARK.encode())
    yield from _frames(MARK.encode())
    yield from _exports()


def _places(text: bytes) -> Iterator[Hostile]:
    """With names that lead elsewhere, or texts that are none."""
    for name, place, says in (
        ("an absolute place", "/etc/passwd", "absolute"),
        ("a place above", "../a.md", "leads out"),
        ("a place above in between", "x/../../a.md", "leads out"),
        ("a drive letter", "C:/a.md", "drive letter"),
        ("a drive letter alone", "c:a.md", "drive letter"),
        ("a dot", "x/./a.md", "single dot"),
        ("an empty name", "x//a.md", "empty name"),
        ("a place that is too deep", "d/" * 30 + "a.md", "deeper than"),
        ("a name that is too long", "n" * 300 + ".md", "longer than"),
        ("a place that is too long", "/".join(["n" * 200] * 8), "longer than"),
    ):
        yield Hostile(name, archive((place, text)), says)
    yield Hostile("nothing but a slash", archive(("/", b"")), "absolute")
    yield Hostile("a backslash", _renamed(archive(("x_a.md", text)), b"x_a.md", b"x\\a.md"), "backslash")
    yield Hostile("a NUL in a name", _renamed(archive(("x_a.md", text)), b"x_a.md", b"x\0a.md"), "NUL")
    yield Hostile("a name that is not UTF-8", _renamed(archive(("x_a.md", text)), b"x_a.md", b"x\xffa.md"), "not UTF-8")
    yield Hostile("a name with a sign that nobody sees", archive(("a\u202egpj.md", text)), "invisible")
    yield Hostile("a coded place above", archive(("%2e%2e%2fa.md", text)), "leads out")
    yield Hostile("a look-alike slash", archive(("a\u2215b.md", text)), "look-alike")
    yield Hostile("the reserved name", archive((".anthropic-memory-store", text)), "reserved")
    yield Hostile("the reserved name below", archive((".anthropic-memory-store/a.md", text)), "reserved")
    yield Hostile("a text that is not UTF-8", archive(("a.md", b"\xff\xfe" + text)), "not a text")
    yield Hostile("a text with a NUL", archive(("a.md", b"\0" + text)), "not a text")
    yield Hostile("an archive inside", archive(("a.md", GOOD)), "not unpacked")
    yield Hostile("a gzip inside", archive(("a.md", b"\x1f\x8b" + text)), "not unpacked")


def _entries(text: bytes) -> Iterator[Hostile]:
    """With entries that are not what they say."""
    yield Hostile("a symbolic link", _with(_mode(stat.S_IFLNK | 0o777)), "symbolic link")
    yield Hostile("a Windows link", _with(lambda info: setattr(info, "external_attr", 0x400)), "symbolic link")
    yield Hostile("a device", _with(_mode(stat.S_IFCHR | 0o666)), "a device")
    yield Hostile("a pipe", _with(_mode(stat.S_IFIFO | 0o666)), "a pipe")
    yield Hostile("a directory without its name", _with(_mode(stat.S_IFDIR | 0o777)), "says that it is a directory")
    yield Hostile("a directory with data", _with(_mode(stat.S_IFDIR | 0o777), "a/"), "has data")
    yield Hostile("the same name twice", _renamed(archive(("a.md", text), ("b.md", text)), b"b.md", b"a.md"), "twice")
    yield Hostile("names that are one name", archive(("\u00e9.md", text), ("e\u0301.md", text)), "twice")
    yield Hostile("a text that is a directory", archive(("a", text), ("a/b.md", text)), "both a text and a directory")
    yield Hostile("an encrypted entry", _patched(_patched(GOOD, LOCAL, 6, b"\1\0"), CENTRAL, 8, b"\1\0"), "encrypted")
    yield Hostile("encrypted in secret", _patched(GOOD, LOCAL, 6, b"\1\0"), "encrypted")
    yield Hostile("an AES entry", _with(_extra(0x9901, b"\2\0AE\3\0\0")), "encrypted")
    yield Hostile("a way to pack that nobody knows", _patched(GOOD, CENTRAL, 10, struct.pack("<H", 14)), "unsupported")
    yield Hostile("two ways to pack", _patched(GOOD, CENTRAL, 10, b"\0\0"), "contradicts itself")
    yield Hostile("two names", _patched(GOOD, LOCAL, 30, b"b.md"), "two names")
    yield Hostile("a second name beside", _with(_extra(0x7075, b"\1\0\0\0\0../a")), "two names")
    yield Hostile("a larger size in the directory", _patched(GOOD, CENTRAL, 24, struct.pack("<L", 9999)), "contradicts")
    yield Hostile("a size that lies twice", _patched(_patched(GOOD, CENTRAL, 24, b"\1\0\0\0"), LOCAL, 22, b"\1\0\0\0"),
                  "not as large")  # fmt: skip
    yield Hostile("a wrong checksum", _patched(_patched(GOOD, CENTRAL, 16, b"abcd"), LOCAL, 14, b"abcd"), "checksum")
    yield Hostile("damaged data", _patched(GOOD, LOCAL, 36, b"\xff\xff\xff"), "damaged")
    yield Hostile("a descriptor that lies", _followed(text), "contradicts itself")


def _frames(text: bytes) -> Iterator[Hostile]:
    """Whose parts do not fit together, or are too many."""
    yield Hostile("overlapping entries", _overlapping(), "overlaps")
    yield Hostile("an entry within another", _quine_like(), "overlaps")
    yield Hostile("a bomb", archive(("a.md", b"\n" * 8_000_000)), "100 times")
    yield Hostile("many small bombs", archive(*[(f"{n}.md", b"\n" * 100_000) for n in range(60)]), "100 times")
    yield Hostile("a text that is too large", archive(*[(f"{n}.md", b"\n" * 9_000_000) for n in range(6)]), "unpacks")
    yield Hostile("too many entries", archive(*[(f"{n}", b"") for n in range(5_001)]), "at most 5,000")
    yield Hostile("too many bytes", GOOD + bytes(11 * 1024 * 1024), "are allowed")
    yield Hostile("data behind the end", GOOD + b"#!/bin/sh", "after its end")
    yield Hostile("data before the beginning", b"PK" + GOOD, "not where the archive says")
    yield Hostile("data between", _between(), "belongs to no entry")
    yield Hostile("a cut archive", GOOD[:-30], "cut off")
    yield Hostile("half an end", GOOD[:-3], "cut off")
    yield Hostile("nothing but an end", GOOD[GOOD.rfind(END) :], "not where the archive says")
    yield Hostile("an empty archive", archive(), "no memory in it")
    yield Hostile("a ZIP64 end", _zip64_end(GOOD), "ZIP64")
    yield Hostile("a ZIP64 size", _patched(GOOD, CENTRAL, 24, b"\xff\xff\xff\xff"), "ZIP64")
    yield Hostile("a ZIP64 field", _with(_extra(1, bytes(16))), "ZIP64")
    yield Hostile("one part of several", _patched(GOOD, END, 4, b"\1\0"), "one part")
    yield Hostile("more entries than there are", _patched(_patched(GOOD, END, 8, b"\2\0"), END, 10, b"\2\0"), "broken")
    yield Hostile("no archive at all", b"%PDF-1.7 " + text, "not a ZIP")


def _between() -> bytes:
    at = GOOD.find(CENTRAL)
    return _moved_directory(GOOD[:at] + b"hidden" + GOOD[at:], 6)


def _exports() -> Iterator[Hostile]:
    """Archives that say that the hub wrote them."""
    header = {"type": "header", "format": "memoryhub-files", "version": 1}
    out = {"type": "file", "name": "a.md", "path": "../../a.md", "sha256": None}
    for name, lines, says in (
        ("a manifest that leads out", [header, out], "is not a memory's"),
        ("a manifest of another version", [{**header, "version": 2}], "version"),
        ("a manifest that is none", [{"type": "file"}], "header"),
    ):
        content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        yield Hostile(name, archive(("a.md", MARK.encode()), (".memoryhub/manifest.jsonl", content)), says)


# ------------------------------------------------------------------------------------------------ JSON Lines

HEADER = {"type": "header", "format": "memoryhub", "version": 1, "history": True}
MEMORY = {"type": "memory", "id": "mem_1", "path": "/a.md", "deleted": False}
VERSION = {
    "type": "version", "id": "memver_1", "memory": "mem_1", "number": 1, "operation": "created", "path": "/a.md",
    "content": MARK, "sha256": None, "created_at": "2026-01-31T12:00:00.000000Z", "author": None, "redacted": False,
}  # fmt: skip
END_LINE = {"type": "end", "memories": 1, "versions": 1}


def lines(*values: object) -> bytes:
    return b"".join((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n" for value in values)


def json_lines() -> Iterator[Hostile]:
    """Hostile JSON Lines."""

    def of(name: str, says: str, version: dict[str, Any] | None = None, memory: dict[str, Any] | None = None,
           header: dict[str, Any] | None = None, end: dict[str, Any] | None = None) -> Hostile:  # fmt: skip
        data = lines(
            HEADER | (header or {}), MEMORY | (memory or {}), VERSION | (version or {}), END_LINE | (end or {})
        )
        return Hostile(name, data, says, "brought.jsonl")

    yield of("a path that leads out", "Nothing in it", {"path": "/../a.md"}, {"path": "/../a.md"})
    yield of("a path without a slash", "leads out", {"path": "a.md"}, {"path": "a.md"})
    yield of("a path in history that leads out", "newest version is at another", {"path": "/../a.md"})
    yield of("another format", "format", header={"format": "tar"})
    yield of("another version", "version", header={"version": 2})
    yield of("a version that is true", "version", header={"version": True})
    yield of("another count", "incomplete", end={"versions": 2})
    yield of("a text that has another sum", "sha256", {"sha256": hashlib.sha256(b"").hexdigest()})
    yield of("a text that is a number", "not a text", {"content": 7})
    yield of("a NUL", "NUL", {"content": "\0" + MARK})
    yield of("an unpaired surrogate", "surrogate", {"content": "\ud800" + MARK})
    yield of("an operation that there is not", "operation", {"operation": "renamed"})
    yield of("a first version that changes", "first", {"operation": "modified"})
    yield of("a deletion with a text", "has a text", {"operation": "deleted"}, {"deleted": True})
    yield of("a live memory that is deleted", "contradicts itself", memory={"deleted": True})
    yield of("a redacted text", "redacted", {"redacted": True})
    yield of("a number that is huge", "higher number", {"number": 10**300})
    yield of("a moment that there is not", "not a moment", {"created_at": "yesterday"})
    yield of("an author that there is not", "which does not exist", {"author": {"type": "root", "id": "", "label": ""}})
    yield of("another memory's version", "does not follow", {"memory": "mem_2"})
    whole = (HEADER, MEMORY, VERSION, END_LINE)
    for name, says, data in (
        ("a cut stream", "cut off", lines(*whole[:3])),
        ("half a line", "cut off", lines(*whole)[:-4]),
        ("something behind the end", "after its end", lines(*whole, MEMORY)),
        ("no header", "header", lines(*whole[1:])),
        ("two headers", "second header", lines(HEADER, *whole)),
        ("one id twice", "twice", lines(HEADER, MEMORY, VERSION, MEMORY, VERSION,
                                       {"type": "end", "memories": 2, "versions": 2})),
        ("one path twice", "twice", lines(HEADER, MEMORY, VERSION, MEMORY | {"id": "mem_2"},
                                         VERSION | {"memory": "mem_2", "id": "memver_2"},
                                         {"type": "end", "memories": 2, "versions": 2})),
        ("keys twice", "is repeated", lines(HEADER, b'{"type":"memory","type":"memory"}')),
        ("deep nesting", "nested deeper", lines(HEADER, b'{"type":"x","y":' + b"[" * 100 + b"]" * 100 + b"}")),
        ("a huge integer", "digits", lines(HEADER, b'{"type":"x","y":' + b"9" * 5000 + b"}")),
        ("no number", "NaN", lines(HEADER, b'{"type":"x","y":NaN}')),
        ("a line that is no object", "not an object", lines(HEADER, b"[]")),
        ("a line that is not UTF-8", "UTF-8", lines(HEADER, b'{"type":"\xff"}')),
        ("a memory without a version", "no version", lines(HEADER, MEMORY, END_LINE | {"versions": 0})),
    ):  # fmt: skip
        yield Hostile(name, data, says, "brought.jsonl")


# ------------------------------------------------------------------------------------------------ git


def commit(*changes: str | bytes, message: str = "m", head: str = "", ref: str = "refs/heads/main") -> bytes:
    """One commit of a stream."""
    made = (
        f"commit {ref}\n{head}committer A <a@example.com> 1700000000 +0000\ndata {len(message)}\n{message}\n".encode()
    )
    return made + b"".join((one.encode() if isinstance(one, str) else one) + b"\n" for one in changes)


def written(place: str | bytes, mode: str = "100644", content: bytes = MARK.encode()) -> bytes:
    """A text in a commit."""
    name = place.encode() if isinstance(place, str) else place
    return f"M {mode} inline ".encode() + name + f"\ndata {len(content)}\n".encode() + content


def git_streams() -> Iterator[Hostile]:
    """Hostile fast-import streams."""
    ours = b'# memoryhub {"type": "header", "format": "memoryhub-git", "version": 1}\n'
    for name, says, data in (
        ("a link", "symbolic link", commit(written("a.md", "120000"))),
        ("another repository", "another repository", commit("M 160000 " + "0" * 40 + " sub")),
        ("a mode that nobody knows", "mode", commit(written("a.md", "100000"))),
        ("a place above", "leads out", commit(written("../a.md"))),
        ("a quoted place above", "leads out", commit(written('"../a.md"'))),
        ("an octal place above", "leads out", commit(written('"\\056\\056/a.md"'))),
        ("a place that is not UTF-8", "not UTF-8", commit(written('"\\377"'))),
        ("a broken quote", "quotes", commit(written('"a.md'))),
        ("an absolute place", "absolute", commit(written("/etc/passwd"))),
        ("a text that is not there", "not in the stream", commit("M 100644 :9 a.md")),
        ("less data than it says", "less data", b"blob\nmark :1\ndata 999\nx\n"),
        ("a length that is none", "length", b"blob\nmark :1\ndata -1\nx\n"),
        ("data up to a word", "length", b"blob\nmark :1\ndata <<EOT\nx\nEOT\n"),
        ("one mark twice", "mark", b"blob\nmark :1\ndata 1\nx\nblob\nmark :1\ndata 1\ny\n"),
        ("a merge", "merge", commit(written("a.md"), head="mark :1\n")
         + commit(head="").replace(b"data 1\nm\n", b"data 1\nm\nmerge :1\n")),
        ("two lines of history", "not linear", commit(written("a.md")) + commit(written("b.md"), ref="refs/x")),
        ("a command that nobody knows", "command", b"feature done\nls /etc/passwd\ndone\n"),
        ("a feature that reads files", "unsupported feature", b"feature import-marks=/etc/passwd\n"),
        ("a cut stream", "cut off", b"feature done\n" + commit(written("a.md"))),
        ("half a line", "cut off", commit(written("a.md"))[:-1] + b"\nM 100644"),
        ("something behind the end", "after its end", commit(written("a.md")) + b"done\nblob\n"),
        ("an author that is none", "author", commit(written("a.md")).replace(b"1700000000", b"now")),
        ("no committer", "no committer", b"commit refs/heads/main\ndata 1\nm\n"),
        ("ours without its end", "cut off", ours),
        ("ours without trailers", "name its version", ours + commit(written("a.md")) + b"done\n"),
        ("ours of another version", "version", ours.replace(b": 1}", b": 2}") + b"done\n"),
        ("nothing that is a text", "not a text", commit(written("a.md", content=b"\xff"))),
    ):  # fmt: skip
        yield Hostile(name, data, says, "brought.gitstream")


def everything() -> list[Hostile]:
    return [*archives(), *json_lines(), *git_streams()]
