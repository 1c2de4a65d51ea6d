"""Writes a stream for `git fast-import`: one commit per version, with the version's author and time."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from memoryhub.pure.chain import moment
from memoryhub.pure.transfer.bundle import Author, BundledVersion
from memoryhub.pure.transfer.git.names import safe_path
from memoryhub.pure.transfer.git.tree import Tree
from memoryhub.pure.transfer.jsonl.write import Counts
from memoryhub.pure.transfer.written import About, WrittenVersion, author, header, to_json

FORMAT = "memoryhub-git"
BRANCH = "refs/heads/main"
HOST = "memoryhub.invalid"
COMMITTER = f"MemoryHub <hub@{HOST}>"
REDACTED = "This version was redacted.\n"
"""The text that a stream has in place of a redacted text. A trailer says so too."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f<>]+")
_CRUD = " \t.,:;<>\"\\'"
"""The characters that git strips from both ends of a person's name."""
_NOT_IN_ADDRESSES = re.compile(r"[^A-Za-z0-9._+-]")


def stream(about: About, versions: Iterable[WrittenVersion], counts: Counts) -> Iterator[bytes]:
    """Yield the stream. `versions` are in the order of the audit; the versions of one entry follow one another."""
    yield f"feature done\n# memoryhub {to_json(header(about, FORMAT))}\n".encode()
    yield f"# memoryhub {to_json({'type': 'store', **about.store})}\n".encode()
    yield f"reset {BRANCH}\n\n".encode()
    tree = Tree()
    for written in versions:
        counts.versions += 1
        yield _commit(written, tree)
    yield b"done\n"


def _commit(written: WrittenVersion, tree: Tree) -> bytes:
    version = written.version
    message = f"{_subject(version)}\n\n{_trailers(written)}".encode()
    when = _when(version.at)
    lines = [
        f"commit {BRANCH}\n".encode(),
        f"author {_person(version.author)} {when}\ncommitter {COMMITTER} {when}\n".encode(),
        _data(message),
        *_changes(written.version, *tree.move(written)),
        b"\n",
    ]
    return b"".join(lines)


def _changes(version: BundledVersion, old: str | None, place: str | None) -> Iterator[bytes]:
    """Yield the changes of a version's commit: first the removal of the file `old` (None: nothing is removed), then
    the version's text for the file `place` (None: nothing is written)."""
    if old is not None:
        yield f"D {_quoted(safe_path(old))}\n".encode()
    if place is not None:
        text = REDACTED if version.content is None else version.content
        yield f"M 100644 inline {_quoted(safe_path(place))}\n".encode()
        yield _data(text.encode("utf-8", "surrogatepass"))


def _subject(version: BundledVersion) -> str:
    """Return the subject of a version's commit: the operation and the path in one line."""
    what = f"{version.operation} {version.path or 'a redacted path'}" + (" (redacted)" if version.redacted else "")
    return re.sub(r"\s+", " ", what).encode("utf-8", "replace").decode()


def _trailers(written: WrittenVersion) -> str:
    version = written.version
    lines = {
        "Version": version.id,
        "Memory": written.memory,
        "Number": str(version.number),
        "Operation": version.operation,
        "Path": to_json(version.path or None),
        "At": moment(version.at) if version.at else None,
    }
    if version.author is not None:
        if version.author.type:
            lines["Actor"] = f"{version.author.type} {version.author.id}"
        lines["Label"] = to_json(version.author.label)
    if version.redacted:
        lines["Redacted"] = "yes"
    return "".join(f"Memoryhub-{name}: {value}\n" for name, value in lines.items() if value is not None)


def _person(who: Author | None) -> str:
    """Return a name that git accepts, and an e-mail address that identifies the author but cannot receive mail."""
    person = author(who) or {}
    label = _NOT_IN_NAMES.sub(" ", str(person.get("label") or "")).strip(_CRUD)
    name = label.encode("utf-8", "replace").decode() or "unknown"
    if who is None or not who.type:
        return f"{name} <nobody@{HOST}>"
    return f"{name} <{_NOT_IN_ADDRESSES.sub('-', who.id)}@{who.type}.{HOST}>"


def _when(at: datetime | None) -> str:
    """Return a time as git writes it, in whole seconds since 1970. None becomes 0, and so does a time before 1970: git
    does not support it."""
    return f"{max(0, ((at or _EPOCH) - _EPOCH) // timedelta(seconds=1))} +0000"


def _data(data: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(data), data)


def _quoted(path: str) -> str:
    """Return a path in quotes, so that no character in it has a special meaning."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
