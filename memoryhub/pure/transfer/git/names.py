"""Paths in a git tree. A name is escaped if git would refuse it, or if a program would read the file as its settings.
The escape can be reversed."""

from itertools import pairwise
from urllib.parse import unquote

from memoryhub.pure.transfer import obeyed_names
from memoryhub.pure.transfer.names import escape, escape_obeyed


def safe_path(path: str) -> str:
    """Return the path in the git tree for a path in the API's form. The result has no slash at its start."""
    names = path.split("/")
    return "/".join(safe_name(name, above) for above, name in pairwise(names))


def safe_name(name: str, directory: str = "") -> str:
    """Return a name of a path, escaped if git would refuse it, or if a program would read the file as its settings.

    A name that already looks escaped is escaped too, so that every escape can be reversed.
    """
    at = _to_escape(name, directory)
    if not at:
        return name
    escaped = "".join(
        escape(character) if position in at or character in "%\\" else character
        for position, character in enumerate(name)
    )
    return escape_obeyed(escaped, directory)


def _to_escape(name: str, directory: str) -> frozenset[int]:
    """Return the positions of the characters to escape in a name.

    A name that looks escaped already is escaped too, so that two names never become equal.
    """
    whole = name
    while True:
        if at := _obeyed(name, directory):
            return at if name == whole else frozenset({0})
        name, before = unquote(name), name
        if name == before:
            return frozenset()


def _obeyed(name: str, directory: str) -> frozenset[int]:
    """Return the positions of the characters to escape because a program would obey the name, or because it is `.` or
    `..`.

    Each part between backslashes counts as a name, as on Windows.
    """
    found: set[int] = set()
    start = 0
    for part in name.split("\\"):
        at = obeyed_names.to_escape(part, directory) or ({0} if part and not obeyed_names.folded(part) else ())
        found |= {start + position for position in at}
        start, directory = start + len(part) + 1, part
    return frozenset(found)
