"""Paths in a git tree: names that git refuses, or that a program obeys, are escaped so that each comes back."""

from itertools import pairwise
from urllib.parse import unquote

from memoryhub.transfer import obeyed_names
from memoryhub.transfer.names import escape


def safe_path(path: str) -> str:
    """A path in the tree, without a first slash, of the API's form of a path."""
    names = path.split("/")
    return "/".join(safe_name(name, above) for above, name in pairwise(names))


def safe_name(name: str, directory: str = "") -> str:
    """The name, escaped where git would refuse it, a program obey it, or where it looks as if it had been escaped.

    The escape can be taken back: every `%` of an escaped name is one of the escape's own.
    """
    at = _to_escape(name, directory)
    if not at:
        return name
    return "".join(
        escape(character) if position in at or character in "%\\" else character
        for position, character in enumerate(name)
    )


def _to_escape(name: str, directory: str) -> frozenset[int]:
    """Also of what would need it with some escapes taken away: no two names become the same."""
    whole = name
    while True:
        if at := _obeyed(name, directory):
            return at if name == whole else frozenset({0})
        name, before = unquote(name), name
        if name == before:
            return frozenset()


def _obeyed(name: str, directory: str) -> frozenset[int]:
    """Also of each of the names that Windows reads where a backslash stands, and of `.` and `..`."""
    found: set[int] = set()
    start = 0
    for part in name.split("\\"):
        at = obeyed_names.to_escape(part, directory) or ({0} if part and not obeyed_names.folded(part) else ())
        found |= {start + position for position in at}
        start, directory = start + len(part) + 1, part
    return frozenset(found)
