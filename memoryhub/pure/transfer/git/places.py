"""The texts that a git stream has at one point of its history, by their places. The work on them is bounded."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Generic, TypeVar

from memoryhub.pure.transfer import reading
from memoryhub.pure.transfer.bundle import Refused

T = TypeVar("T")

MOST_LOOKED_AT = 500_000
"""The most texts that all moves and removals of directories in a stream may examine in total."""
_WORK = 1_000
"""How much work on a name (bytes of its directories, or pairs of marks) costs as much as the examination of one
text."""
_MOVED = 16
"""How many bytes in the name of a moved text cost as much as the examination of one text: the name is checked again for
each version."""


class Places(Generic[T]):
    """{place: what is there}. A place is the name as git has it: a name in two Unicode forms is two places."""

    def __init__(self) -> None:
        self._there: dict[str, T] = {}
        self._directories: Counter[str] = Counter()
        self._looked_at = 0

    def __contains__(self, place: str) -> bool:
        return place in self._there

    def __getitem__(self, place: str) -> T:
        return self._there[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there)

    def require(self, name: str, *, moved: bool = False) -> str:
        """Return the place for a name in a stream. `moved`: the stream moves a text to this place.

        Raises Refused if `reading.require_place` refuses the name, or if all work on the stream so far is more than
        MOST_LOOKED_AT.
        """
        reading.require_place(name, posix=True)
        # The directories of a place are hashed one by one, and composing takes the square of the marks.
        marks = 0 if name.isascii() else sum(map(bool, map(unicodedata.combining, name)))
        self._look((name.count("/") * len(name) + marks**2) // _WORK + (len(name) // _MOVED if moved else 0))
        return name

    def put(self, place: str, value: T) -> None:
        if place not in self._there:
            for above in above_of(place):
                self._directories[above] += 1
        self._there[place] = value

    def take(self, place: str) -> T:
        for above in above_of(place):
            self._directories[above] -= 1
        return self._there.pop(place)

    def is_directory(self, place: str) -> bool:
        """Return whether there is a text under a place."""
        return self._directories[place] > 0

    def under(self, place: str) -> list[str]:
        """Return the places of the texts at or under a place.

        Raises Refused if all work on the stream so far is more than MOST_LOOKED_AT.
        """
        if place in self._there or not self.is_directory(place):
            return [place] if place in self._there else []
        self._look(len(self._there))
        beginning = place + "/"
        return [one for one in self._there if one.startswith(beginning)]

    def _look(self, count: int) -> None:
        self._looked_at += count
        if self._looked_at > MOST_LOOKED_AT:
            raise Refused("The stream moves too many texts too often.")


def above_of(place: str) -> list[str]:
    """Return the directories above a place, the highest first."""
    return [place[: match.start()] for match in re.finditer("/", place)]
