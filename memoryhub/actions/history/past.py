"""Lists the names that a directory contained right after an entry. Each name is found by one search in an index."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memoryhub.actions.core import sql
from memoryhub.models import MemoryVersion

LOOK = 256
"""The most versions under a directory that are searched for a current one. If there are more, the result is UNKNOWN."""


FEW = 5_000
"""If the seq is at most this, all versions are read: reading so few costs less than searching from name to name."""

THERE, UNKNOWN = "there", "unknown"


class Name(NamedTuple):
    """A name in a directory. `place` is the first path with this name: a memory's path, or a path in a subdirectory.

    For a memory's path, `was` is the id of the version right after the entry (None: there was no memory). For a
    subdirectory, `was` is THERE if the subdirectory contained a memory, and None if not. The search reads only the
    first LOOK versions under a subdirectory; if they do not decide this, `was` is UNKNOWN. `step` is the number of
    names that the search has seen so far.
    """

    place: str
    step: int
    was: str | None


def names_at(store_id: str, within: tuple[str, str, str], seq: int, *, steps: int, most: int) -> list[Name]:
    """Return at most `most` names that a directory contained right after the entry `seq`, sorted by path.

    `within` is (low, begin, high): the directory's paths are between `low` and `high`, and the search begins at
    `begin`. The search ends after `steps` names. The last of them is then returned even if the directory did not
    contain it, so that the caller can continue there.
    """
    if seq <= FEW:
        return list(islice(_of_few(store_id, within, seq), most))
    sql.connect()
    low, begin, high = within
    rest, until = len(low) + 1, len(low)
    first = (store_id, begin, high)
    following = (store_id, high, rest, until, rest, steps)
    beneath = (store_id, rest, until, seq)
    there, many = (*beneath, LOOK, seq), (*beneath, LOOK + 1, LOOK)
    at_path = (store_id, seq, seq)
    return [
        Name(*row) for row in sql.rows(sql.NAMES_AT, *first, *following, rest, *there, *many, *at_path, steps, most)
    ]


def _of_few(store_id: str, within: tuple[str, str, str], seq: int) -> Iterator[Name]:
    """Yield the names from all versions that were current right after the entry `seq`."""
    low, begin, high = within
    current = MemoryVersion.objects.filter(store_id=store_id).as_of(seq).values_list("path", "pk")
    seen = ""
    for path, version in sorted((path, version) for path, version in current if path and begin <= path < high):
        name, slash, _ = path[len(low) :].partition("/")
        if slash and name != seen:
            seen = name
            yield Name(path, 0, THERE)
        elif not slash:
            yield Name(path, 0, version)
