"""What undid an import, a merge or a retention run, as pages say it."""

from dataclasses import dataclass

from memoryhub.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Undone:
    """The newest undo in force of an act: its entry, and how many of the memories of the act (`count` of `of`) it
    undid."""

    entry: AuditEntry
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of
