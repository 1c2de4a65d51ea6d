"""The current row of a memory, as the statements of `core.sql` read it."""

from typing import NamedTuple

from memoryhub.actions.core import sql


class StoredMemory(NamedTuple):
    """A memory's current row.

    If the text was not read, `content` is None or empty, and `waiting_notes` is not known. `has_findings` is None if it
    was not read; on SQLite, it is never read.
    """

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
    has_findings: bool | None = None

    @property
    def kept(self) -> int:
        """Return how many versions of the memory still exist, without those that retention removed."""
        return self.versions - self.removed


def with_its_findings(store_id: str, row: sql.Row) -> StoredMemory:
    """Return the memory of a row of `sql.MEMORY_AT`.

    If the row says whether the memory has findings, store this as the answer to `sql.HAS_FINDING`.
    """
    memory = StoredMemory(*row)
    if memory.has_findings is not None:
        sql.know((sql.HAS_FINDING, (store_id, memory.id)), [(1,)] if memory.has_findings else [])
    return memory
