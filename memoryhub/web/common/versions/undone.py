"""Sentences for pages on the undo of an import, a merge or a retention run."""

from dataclasses import dataclass

from memoryhub.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Undone:
    """The newest undo of an act that is still in force: its entry, and the number of the act's memories that it undid
    (`count` of `of`)."""

    entry: AuditEntry
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of
