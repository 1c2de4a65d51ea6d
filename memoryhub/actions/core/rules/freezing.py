"""Freezing legal holds: no door can change the text or the path of a memory that such a hold covers.

`tree` checks these holds before it writes a new version.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memoryhub.actions.core import sql
from memoryhub.actions.core.transactions import remembered
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

MOST_OF_REASON = 300


@dataclass(frozen=True, slots=True)
class Frozen:
    """A store's freezing holds: {memory id: reason of its hold} in `memories`, and {path: reason} in `places`."""

    memories: dict[str, str]
    places: dict[str, str]

    def require_free(self, memories: Iterable[tuple[str, str]]) -> None:
        """Raise ToolError for the first (memory, path) that is frozen: by its id, its path or a directory above it."""
        if not self.memories and not self.places:
            return
        for memory, path in memories:
            reason = self._reason(memory, path)
            if reason is not None:
                raise ToolError(results.frozen(path, " ".join(reason.split())[:MOST_OF_REASON]))

    def require_still(self, path: str) -> None:
        """Raise ToolError if a path, a directory above it, or a path under it is frozen."""
        self.require_free([("", path), *(("", place) for place in self.places if place.startswith(path + "/"))])

    def _reason(self, memory: str, path: str) -> str | None:
        if memory in self.memories:
            return self.memories[memory]
        places = (*paths.ancestors(path), path)
        return next((self.places[place] for place in places if place in self.places), None)


NOTHING = Frozen({}, {})


def of_store(store_id: str, now: object) -> Frozen:
    """Return the freezing holds of a store that are in force at `now`. Lock the store first.

    `now` is a time that `sql.moment` returned.
    """
    if remembered.get("frozen", store_id) is not None:
        return NOTHING
    rows = sql.rows(sql.FROZEN, store_id, now)
    if not rows:
        remembered.put(NOTHING, "frozen", store_id)
    return Frozen(
        {memory: reason for memory, _, reason in rows if memory is not None},
        {path: reason for memory, path, reason in rows if memory is None},
    )
