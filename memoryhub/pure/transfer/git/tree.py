"""Where each memory is in the tree of a git stream, so that no commit removes the text of another memory."""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from memoryhub.pure.transfer.written import WrittenVersion


class Tree:
    """The places that memories have in the tree of a git stream.

    After the last commit of the stream, the tree is the same as that of the store.

    If memories exchange their paths in one audit entry, a path belongs to the memory whose text was written there
    last. A version that was never current in this store (`is_past`) may have a path at which another memory is. Its
    text is then written to a free place.
    """

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._beneath: Counter[str] = Counter()
        self._aside: dict[str, str] = {}

    def move(self, written: WrittenVersion) -> tuple[str | None, str | None]:
        """Return (the file that a version's commit removes, the file to which it writes the text).

        Either is None if there is no such file.
        """
        memory, version = written.memory, written.version
        old = self._aside.pop(memory, written.old_path)
        if old is None or self._there.get(old) != memory:
            old = None
        else:
            self._take(old)
        if version.operation == "deleted" or not version.path:
            return old, None
        place = version.path
        if written.is_past and self._is_taken(place):
            place = self._aside[memory] = self._free(memory)
        for other in self._in_the_way(place):
            self._take(other)
        self._put(place, memory)
        return (None if old == place else old), place

    def _is_taken(self, place: str) -> bool:
        return self._beneath[place] > 0 or any(part in self._there for part in _upwards(place))

    def _free(self, memory: str) -> str:
        """Return a free place at the root, named after the memory."""
        place = f"/{memory}"
        while self._is_taken(place):
            place += "+"
        return place

    def _in_the_way(self, place: str) -> list[str]:
        """Return the places in the tree that a text at `place` replaces."""
        found = [part for part in _upwards(place) if part in self._there]
        if self._beneath[place]:
            found += [other for other in self._there if other.startswith(f"{place}/")]
        return found

    def _put(self, place: str, memory: str) -> None:
        self._there[place] = memory
        self._beneath.update(_above(place))

    def _take(self, place: str) -> None:
        del self._there[place]
        for directory in _above(place):
            self._beneath[directory] -= 1
            if not self._beneath[directory]:
                del self._beneath[directory]


def _upwards(place: str) -> Iterator[str]:
    """Yield the directories above a place, the highest first, and then the place itself."""
    names = place.split("/")[1:]
    return accumulate(f"/{name}" for name in names)


def _above(place: str) -> list[str]:
    """Return the directories above a place."""
    return list(_upwards(place))[:-1]
