"""What lay directly in a directory after one entry: its names, found by skipping from one to the next in the index."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memoryhub.actions.core import sql
from memoryhub.models import MemoryVersion

LOOK = 256
"""So many versions beneath a directory are looked at for one that was current; past them it may have been there."""


FEW = 5_000
"""Up to this entry so little was ever written that its versions are read instead of skipped through."""

THERE, UNKNOWN = "there", "unknown"


class Name(NamedTuple):
    """A name by the first path that has it, the memory's own or one beneath a directory.

    `was` is the id of the version that was current at a memory's path; of a directory THERE, or UNKNOWN where too many
    versions lie beneath it to say so; null where nothing was.
    """

    place: str
    step: int
    was: str | None


def names_at(store_id: str, within: tuple[str, str, str], seq: int, *, steps: int, most: int) -> list[Name]:
    """The names in a directory after the entry `seq`, in the order of paths, `most` of them.

    `within` is (low, begin, high): the directory's range and the path to begin at. After so many `steps` from name to
    name the last one is given too, whatever was there (`was` is null then).
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
    """The same from all versions that were current, by the index (store, seq)."""
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
