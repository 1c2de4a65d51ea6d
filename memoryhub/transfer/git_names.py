"""Paths in a git tree: names that git refuses or a program obeys are escaped reversibly."""

from itertools import pairwise
from urllib.parse import unquote

from memoryhub.transfer import obeyed_names
from memoryhub.transfer.names import escape


def safe_path(path: str) -> str:
    """Return a path in the tree, without a first slash, for a path in the API's form."""
    names = path.split("/")
    return "/".join(safe_name(name, above) for above, name in pairwise(names))


def safe_name(name: str, directory: str = "") -> str:
    """Return the name, escaped if git would refuse it, a program obey it, or if it already looks escaped.

    The escape is reversible: every `%` of an escaped name belongs to the escape.
    """
    at = _to_escape(name, directory)
    if not at:
        return name
    return "".join(
        escape(character) if position in at or character in "%\\" else character
        for position, character in enumerate(name)
    )


def _to_escape(name: str, directory: str) -> frozenset[int]:
    """Return the positions to escape, also for a name that would need it once unescaped: no two names become equal."""
    whole = name
    while True:
        if at := _obeyed(name, directory):
            return at if name == whole else frozenset({0})
        name, before = unquote(name), name
        if name == before:
            return frozenset()


def _obeyed(name: str, directory: str) -> frozenset[int]:
    """Return the positions to escape, considering each name between backslashes as Windows does, and `.` and `..`."""
    found: set[int] = set()
    start = 0
    for part in name.split("\\"):
        at = obeyed_names.to_escape(part, directory) or ({0} if part and not obeyed_names.folded(part) else ())
        found |= {start + position for position in at}
        start, directory = start + len(part) + 1, part
    return frozenset(found)
