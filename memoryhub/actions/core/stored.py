"""The current row of a memory, as the statements of `core.sql` read it."""

from typing import NamedTuple


class StoredMemory(NamedTuple):
    """A memory's current row. `content` is None, or empty, if the text was not read; then `waiting_notes` was not read
    either."""

    id: str
    path: str
    head: str
    text: str
    size: int
    sha256: str
    versions: int
    removed: int
    content: str
    waiting_notes: int = 0

    @property
    def kept(self) -> int:
        """Return how many of the memory's versions still exist. Retention has removed `removed` of them."""
        return self.versions - self.removed
